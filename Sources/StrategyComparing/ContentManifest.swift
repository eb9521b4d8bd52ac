/// What a run left on disk: every file's name and a fingerprint of its bytes.
public struct ContentManifest: Sendable, Equatable {
  public struct File: Sendable, Equatable {
    /// Path below the run's own folder, so that two runs can have the same names.
    public let name: String
    /// Digest of the bytes in a form that the caller chooses; compared, never read.
    public let digest: String

    public init(name: String, digest: String) {
      self.name = name
      self.digest = digest
    }
  }

  /// Sorted by name.
  public let files: [File]

  public init(files: [File]) { self.files = files.sorted { $0.name < $1.name } }

  /// The first file, by name, in which this manifest differs from another; nil if there is none.
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
        return .unexpected(name: file.name)
      case (nil, .some(let other)):
        return .missing(name: other.name)
      case (.some(let left), .some(let right)):
        if left.name < right.name { return .unexpected(name: left.name) }
        if left.name > right.name { return .missing(name: right.name) }
        if left.digest != right.digest { return .bytes(name: left.name) }
        file = mine.next()
        other = theirs.next()
      }
    }
  }
}
