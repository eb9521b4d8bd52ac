/// How many times as fast one thing is as another, and how sure that is.
public struct RelativeSpeed: Sendable, Equatable {
  /// Ratio of the mean times: above 1 is faster.
  public let factor: Double
  /// One standard deviation of the factor; nil when one side ran only once.
  public let deviation: Double?

  public init(factor: Double, deviation: Double?) {
    self.factor = factor
    self.deviation = deviation
  }

  /// As hyperfine does: r = μ₂/μ₁, and σ of r by propagation, r · √((σ₁/μ₁)² + (σ₂/μ₂)²), the runs of the two
  /// being independent. nil when a mean is no time at all.
  public init?(of sample: SampleSummary, against reference: SampleSummary) {
    guard sample.mean > .zero, reference.mean > .zero else { return nil }
    let factor = reference.mean / sample.mean
    self.factor = factor
    if let own = sample.standardDeviation, let other = reference.standardDeviation {
      let ownPart = own / sample.mean
      let otherPart = other / reference.mean
      deviation = factor * (ownPart * ownPart + otherPart * otherPart).squareRoot()
    } else {
      deviation = nil
    }
  }
}
