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

  /// What else is to be said of it.
  public enum Remark: String, Sendable, Equatable {
    /// The bytes that came stood here already, so that the file that was here stays.
    case sameAsHere = "same-as-here"
    /// The server answered 204 (RFC 9110 §15.3.5): it has nothing to send, and the file is empty.
    case noContent = "no-content"
    /// The server sent it in a content coding that nobody asked for (RFC 9110 §8.4), which was taken off.
    case decoded
    /// It stands here in the content coding that the server sent it in: its name or type says so, or dlm cannot take it
    /// off.
    case stillCoded = "still-coded"
  }

  public var kind: Kind
  public var remark: Remark?
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
  /// The last segment of `path`: the name in the output folder.
  public var name: String { Self.lastSegment(path) }

  /// The name that it was to have: that of `renamedFrom`, or its own.
  public var wantedName: String { Self.lastSegment(renamedFrom ?? path) }

  /// By bytes: a name may begin with a mark that makes one `Character` with the slash before it.
  private static func lastSegment(_ path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }
}
