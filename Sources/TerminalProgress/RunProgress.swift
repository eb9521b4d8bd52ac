import DownloadModel

/// What the whole run amounts to at one moment.
struct RunProgress: Sendable, Equatable {
  let tally: ProgressTally
  /// Bytes of files that are there, unfinished ones included; an attempt that failed takes its bytes back.
  let bytes: Int64
  /// Bytes of all files together; nil while a size is unknown.
  let totalBytes: Int64?
  /// Bytes that are known to be missing.
  let remaining: Int64
  /// Files, listed so far, whose size is not known yet.
  let unknownSizes: Int
  /// Requests of the list that have not begun.
  let queued: Int
  private let fileFractions: Double

  /// - Parameter rejected: lines that were no request; the tally counts them as failed.
  init(_ tally: ProgressTally, rejected: Int, active: some Sequence<FileProgress>) {
    self.tally = tally
    var (bytes, total, remaining) = (tally.finishedBytes, tally.finishedBytes, Int64(0))
    var (count, unknown, fractions) = (0, 0, 0.0)
    for file in active {
      count += 1
      bytes += file.position
      fractions += file.fraction ?? 0
      if let length = file.total {
        total += length
        remaining += max(0, length - file.position)
      } else {
        unknown += 1
      }
    }
    let ended = max(0, tally.done + tally.failed - rejected + tally.cancelled)
    queued = max(0, tally.listed - ended - count)
    unknownSizes = unknown + queued
    totalBytes = tally.listIsComplete && unknownSizes == 0 ? total : nil
    fileFractions = Double(ended) + fractions
    self.bytes = bytes
    self.remaining = remaining
  }

  /// Whether more may be missing than `remaining`.
  var isLowerBound: Bool { totalBytes == nil }

  /// By bytes where all sizes are known; nil otherwise.
  var fractionOfBytes: Double? {
    totalBytes.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 }
  }

  /// By files, unfinished ones in part; nil while the list is not read to its end.
  var fractionOfFiles: Double? {
    guard tally.listIsComplete, tally.listed > 0 else { return nil }
    return min(1, fileFractions / Double(tally.listed))
  }
}
