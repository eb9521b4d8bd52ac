import DownloadModel

/// Judges whether a text is a list, by its first bytes and by how many lines are URLs. Otherwise a film that was meant
/// to be downloaded would be rejected line by line.
struct ListDoubt {
  /// Bad lines before the first URL.
  static let mostAtStart = 8
  /// Bad lines that count as mistakes in a long list, as long as most lines are URLs.
  static let mostLater = 50
  /// Beyond those, bad lines that are tolerated for each URL.
  private static let badPerAddress = 20

  private var addresses = 0
  private var bad = 0
  private var held: [Rejection] = []

  mutating func address() -> [Rejection] {
    addresses += 1
    return release()
  }

  /// - Returns: the bad lines to report now; empty while undecided.
  /// - Throws: if it is not a list.
  mutating func take(_ line: Rejection) throws(Rejection.NoList) -> [Rejection] {
    bad += 1
    let isTooMany =
      addresses == 0 ? bad >= Self.mostAtStart : bad > Self.mostLater && bad / Self.badPerAddress > addresses
    if isTooMany { throw .lines(bad) }
    if addresses > 0 { return [line] }
    held.append(line)
    return []
  }

  mutating func release() -> [Rejection] {
    defer { held = [] }
    return held
  }

  static func look(at start: [UInt8]) -> Rejection.NoList? {
    if start.starts(with: [0xFF, 0xFE]) || start.starts(with: [0xFE, 0xFF]) { return .utf16 }
    if MarkupList.isPage(start) == true { return .page }
    return start.contains(0) ? .binary : nil
  }
}
