/// What a run downloaded: for each request its address and a fingerprint of the bytes that came.
///
/// Requests and not names, since names may depend on what servers answer, and on which of two addresses that end in one
/// name is answered first.
public struct ContentManifest: Sendable, Equatable {
  public struct File: Sendable, Equatable {
    /// Position of the request in the list, the same in every run of it.
    public let id: Int
    /// Of the request, without credentials.
    public let address: String
    /// Digest of the bytes in a form that the caller chooses; compared, never read.
    public let digest: String

    public init(id: Int, address: String, digest: String) {
      self.id = id
      self.address = address
      self.digest = digest
    }
  }

  /// Sorted by position.
  public let files: [File]

  public init(files: [File]) { self.files = files.sorted { $0.id < $1.id } }

  /// The first file, in the list's order, in which this manifest differs from another; nil if there is none.
  public func firstDifference(from reference: ContentManifest) -> ContentDifference? {
    var mine = files.makeIterator()
    var theirs = reference.files.makeIterator()
    var file = mine.next()
    var other = theirs.next()
    while true {
      switch (file, other) {
      case (nil, nil):
        return nil
      case (.some(let file), nil):
        return .unexpected(address: file.address)
      case (nil, .some(let other)):
        return .missing(address: other.address)
      case (.some(let left), .some(let right)):
        if left.id < right.id { return .unexpected(address: left.address) }
        if left.id > right.id { return .missing(address: right.address) }
        if left.digest != right.digest { return .bytes(address: left.address) }
        file = mine.next()
        other = theirs.next()
      }
    }
  }
}

/// How the files of one run differ from those of another.
public enum ContentDifference: Sendable, Equatable {
  case bytes(address: String)
  /// The other run had it.
  case missing(address: String)
  /// The other run did not have it.
  case unexpected(address: String)
}

/// The first run's content, which every later run must have too.
struct ContentReference: Sendable {
  private let step: ComparisonPlan.Step
  private let manifest: ContentManifest

  init(_ step: ComparisonPlan.Step, _ observation: RunObservation) {
    (self.step, manifest) = (step, observation.manifest)
  }

  /// Why a run does not count; nil if it does.
  /// - Parameter reference: nil for the first run.
  static func objection(
    to observation: RunObservation, of step: ComparisonPlan.Step, reference: ContentReference?
  ) -> InvalidRun? {
    if !observation.failures.isEmpty {
      return InvalidRun(step: step, reason: .failed(observation.failures))
    }
    if observation.files == 0 { return InvalidRun(step: step, reason: .nothingDownloaded) }
    guard let reference, let difference = observation.manifest.firstDifference(from: reference.manifest)
    else { return nil }
    return InvalidRun(step: step, reason: .differs(difference, from: reference.step))
  }
}
