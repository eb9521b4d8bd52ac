import DownloadModel
import Glibc

/// The sizes of finished files in the order of their ends, as means over groups of equal size: few numbers show the
/// trend of a long list.
struct SizeTrend {
  private static let most = 64

  private(set) var means: [Double] = []
  private var filesEach = 1
  private var files = 0
  private var bytes: Int64 = 0

  /// Adds the files that finished since the last call.
  mutating func take(_ tally: ProgressTally) {
    let newFiles = tally.done - files
    let newBytes = tally.finishedBytes - bytes
    guard newFiles >= filesEach || newFiles < 0 else { return }
    files = tally.done
    bytes = tally.finishedBytes
    guard newFiles > 0, newBytes >= 0 else { return }
    let mean = Double(newBytes) / Double(newFiles)
    means += repeatElement(mean, count: min(newFiles / filesEach, Self.most))
    while means.count > Self.most {
      means = stride(from: 1, to: means.count, by: 2).map { (means[$0 - 1] + means[$0]) / 2 }
      filesEach *= 2
    }
  }

  /// The mean size of the next `count` files: `mean`, or, if sizes fall or rise significantly, the size of the middle
  /// one, if the trend continues for at most twice the observed length.
  /// - Parameter more: the sizes of files that follow the finished ones.
  func mean(ofNext count: Int, after more: [Double], else mean: Double) -> Double {
    var line = FittedLine()
    let sizes = means + more
    // Files of one frame have the same mean, and count as one. Roots make declines of any steepness straight enough.
    for (size, next) in zip(sizes, sizes.dropFirst() + [0]) where size != next {
      line.add(line.count, pow(max(0, size), 0.25))
    }
    guard line.count > 3, pow(line.common, 2) > 16 * line.spread * line.rest / (line.count - 2) else { return mean }
    // From the middle of the line to its end, and on to the middle of the remaining files.
    let slope = line.common / line.spread
    let last = line.y / line.count + slope * line.count / 2
    let ahead = min(Double(count / filesEach) / 2, line.count)
    let lastSize = pow(max(0, last), 4)
    let nextSize = pow(max(0, last + slope * ahead), 4)
    return min(max(nextSize, min(lastSize, mean / 4)), max(lastSize, mean * 4))
  }
}
