/// How one file ended well.
public struct DownloadOutcome: Sendable, Equatable {
  public enum Kind: String, Sendable, Equatable {
    /// Its body came over the network, whole or its missing rest.
    case fetched
    /// The server said 304, or this process had just proved it: nothing was transferred.
    case unchanged
    /// The same bytes stood elsewhere on this disk and were copied.
    case copied
    /// Something stood under its name and the user's policy says to leave it (`--on-conflict skip`).
    case skipped
  }

  public var kind: Kind
  /// The final path.
  public var path: String
  /// Length of the whole file in bytes.
  public var size: Int64
  /// Body bytes that this run transferred for it.
  public var transferred: Int64
  /// Bytes that an earlier, interrupted run had left.
  public var resumed: Int64
  /// What shows that it is right; nil where nothing was fetched and nothing compared.
  public var proof: Proof?
  /// The name it was to have, when something else stood there and it got another.
  public var renamedFrom: String?
  /// Content-Type of a file that was renamed so, for whoever has to decide between the two.
  public var mediaType: String?

  public init(
    kind: Kind, path: String, size: Int64, transferred: Int64 = 0, resumed: Int64 = 0,
    proof: Proof? = nil, renamedFrom: String? = nil
  ) {
    self.kind = kind
    self.path = path
    self.size = size
    self.transferred = transferred
    self.resumed = resumed
    self.proof = proof
    self.renamedFrom = renamedFrom
  }
}
