/// What one run of a mode did, as the one who ran it saw it.
public struct RunObservation: Sendable {
  /// From before the first request to after the last file stood under its name; hashing and clearing up not
  /// counted.
  public var wall: Duration
  /// Body bytes that came over the network.
  public var bytes: Int64
  /// How many files stand under their names.
  public var files: Int
  public var failures: [RunFailure]
  /// A fingerprint of every request and its file's bytes together.
  public var contentDigest: String
  /// The same file by file, so that a difference can be named; nil for lists too long to keep.
  public var manifest: ContentManifest?

  public init(
    wall: Duration, bytes: Int64, files: Int, failures: [RunFailure] = [], contentDigest: String,
    manifest: ContentManifest? = nil
  ) {
    self.wall = wall
    self.bytes = bytes
    self.files = files
    self.contentDigest = contentDigest
    self.failures = failures
    self.contentDigest = contentDigest
    self.manifest = manifest
  }
}
