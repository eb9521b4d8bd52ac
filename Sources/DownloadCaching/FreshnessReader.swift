import DownloadModel
import FileReceiving

/// Keeps the freshness of the last row. Rows of one server mostly have the same fields, and computing it again took 5 %
/// of a fresh file's time.
final class FreshnessReader {
  private var last: (row: CacheRow, now: Int64, guesses: Bool, freshness: Freshness)?

  func freshness(of row: CacheRow, at now: Int64, guesses: Bool) -> Freshness {
    // Everything that freshness depends on, unless it is guessed.
    if let last, last.now == now, last.guesses == guesses, last.row.fetchedAt == row.fetchedAt,
      last.row.freshness == row.freshness, last.row.validator.date == row.validator.date,
      (last.row.effectiveURL == nil) == (row.effectiveURL == nil)
    {
      return last.freshness
    }
    let freshness = Freshness(of: row, at: now, guesses: guesses)
    if !freshness.isGuessed { last = (row, now, guesses, freshness) }
    return freshness
  }
}
