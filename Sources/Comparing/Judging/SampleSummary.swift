/// Statistics of the times of one mode.
package struct SampleSummary: Sendable, Equatable {
  package let count: Int
  package let minimum: Duration
  package let maximum: Duration
  /// The slowest run without outliers: one run in four, and one of three. With fewer runs, all count.
  let usualMaximum: Duration
  /// The middle time, or the mean of the two middle ones.
  package let median: Duration
  package let mean: Duration
  /// Of the sample (divided by n − 1); `nil` for a single run.
  package let standardDeviation: Duration?

  /// - Parameter samples: in any order; empty gives `nil`.
  package init?(_ samples: [Duration]) {
    let sorted = samples.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    let median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    let mean = sorted.reduce(.zero, +) / sorted.count
    count = sorted.count
    minimum = first
    maximum = last
    self.median = median
    self.mean = mean
    usualMaximum = count < 3 ? last : sorted[count - 1 - max(1, count / 4)]
    let distances = sorted.map { ($0 - mean) / .seconds(1) }
    let squares = distances.reduce(0) { $0 + $1 * $1 }
    standardDeviation = count > 1 ? .seconds((squares / Double(count - 1)).squareRoot()) : nil
  }

  /// Half the difference between the fastest and slowest run, as a fraction of the median: 0.1 is ±10 %.
  package var spread: Double { median > .zero ? (maximum - minimum) / 2 / median : 0 }

  /// `± 4 %`; `nil` for a single run.
  package var spreadText: String? { count > 1 ? "± \(Int(min(spread * 100, 1e6).rounded())) %" : nil }

  /// Whether the runs of a mode differ too much.
  package var isUneven: Bool { spread > 0.10 }
}
