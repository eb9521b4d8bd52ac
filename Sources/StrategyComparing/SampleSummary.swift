/// What the times of one mode say. All values follow from the samples alone.
public struct SampleSummary: Sendable, Equatable {
  public let count: Int
  public let minimum: Duration
  public let maximum: Duration
  /// The middle time, or the mean of the two middle ones.
  public let median: Duration
  public let mean: Duration
  /// Of the sample (divided by n − 1); nil for a single run, which says nothing about its scatter.
  public let standardDeviation: Duration?
  /// Median of the distances from the median: a scatter that one odd run cannot stretch.
  public let medianDeviation: Duration

  /// - Parameter samples: in any order; nil comes of none.
  public init?(_ samples: [Duration]) {
    let sorted = samples.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    let median = Self.median(sorted: sorted)
    let mean = sorted.reduce(.zero, +) / sorted.count
    count = sorted.count
    minimum = first
    maximum = last
    self.median = median
    self.mean = mean
    medianDeviation = Self.median(sorted: sorted.map { Self.distance($0, median) }.sorted())
    if sorted.count > 1 {
      let squares = sorted.reduce(0.0) { sum, sample in
        let distance = (sample - mean) / .seconds(1)
        return sum + distance * distance
      }
      standardDeviation = .seconds((squares / Double(sorted.count - 1)).squareRoot())
    } else {
      standardDeviation = nil
    }
  }

  /// Half the way from the fastest to the slowest run, as a part of the median: 0.1 is ±10 %.
  public var spread: Double {
    median > .zero ? (maximum - minimum) / 2 / median : 0
  }

  private static func median(sorted: [Duration]) -> Duration {
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }

  private static func distance(_ one: Duration, _ other: Duration) -> Duration {
    one < other ? other - one : one - other
  }
}
