import DownloadModel

/// One file's numbers, read from its meter once a frame, so that all displayed values agree.
struct FileProgress {
  /// Bytes that exist.
  var position: Int64
  /// The part of them that this attempt did not download.
  var start: Int64
  /// Length of the whole file in bytes; `nil` while unknown.
  var total: Int64?

  /// From 0 to 1; `nil` while the length is unknown.
  var fraction: Double? {
    guard let total else { return nil }
    return total > 0 ? min(1, Double(position) / Double(total)) : 1
  }

  var remaining: Int64? { total.map { max(0, $0 - position) } }

  /// Bytes that arrived since `earlier`. A new attempt counts from its own start, so that resumed bytes add no speed.
  func arrived(since earlier: FileProgress) -> Int64 {
    let isNewAttempt = start != earlier.start || position < earlier.position
    return max(0, position - (isNewAttempt ? start : earlier.position))
  }
}

extension FileProgress {
  init(_ meter: TransferMeter) { self.init(position: meter.position, start: meter.start, total: meter.total) }
}
