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
