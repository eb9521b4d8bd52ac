import Synchronization

/// How one file ended without a failure.
public struct DownloadOutcome: Sendable, Equatable {
  /// How the file came to be there.
  public enum Kind: String, Sendable, Equatable {
    /// Its body came over the network, in full or from where an earlier run stopped.
    case fetched
    /// The file was here already, and no body was transferred for this request.
    case unchanged
    /// The file was here already, and its server had said for how long it need not be asked (RFC 9111 §4.2).
    case fresh
    /// The same bytes were elsewhere on this disk and were copied.
    case copied
    /// Something stood under its name and the user's policy says to leave it (`--on-conflict skip`).
    case skipped
  }

  /// Something unusual about a file that did not fail.
  public enum Remark: String, Sendable, Equatable {
    /// The fetched bytes were here already, so the file that was here stays.
    case sameAsHere = "same-as-here"
    /// The server answered 204 (RFC 9110 §15.3.5): it has nothing to send, and the file is empty.
    case noContent = "no-content"
    /// What was here is used although it is no longer fresh: the user or the server allows that, or its server could
    /// not be asked (RFC 9111 §4.2.4, RFC 5861).
    case stale
    /// The server sent it in a content coding that dlm had not asked for (RFC 9110 §8.4); the coding was removed.
    case decoded
    /// It stays in the content coding in which the server sent it: its name or type says so, or dlm lacks the coding.
    case stillCoded = "still-coded"
    /// The server calls it HTML, and its name is of another type: it may be a login or error page.
    case page = "html"
    /// Its server named a content coding, but the bytes are not in it; they are as they came.
    case notCoded = "not-coded"
  }

  public var kind: Kind
  public var remark: Remark?
  /// The file's path: the session's folder and a name.
  public var path: String
  /// Length of the whole file in bytes.
  public var size: Int64
  /// Body bytes that this run transferred for it.
  public var transferred: Int64
  /// Bytes from an earlier, interrupted run.
  public var resumed: Int64
  /// What proves that it is right; nil where nothing was fetched and nothing compared.
  public var proof: Proof?
  /// Of the checksum that it has; nil where none was compared in this run.
  public var algorithm: ContentDigest.Algorithm?
  /// The path that it should have had, where something else stood; `path` itself where it has replaced that since.
  public var renamedFrom: String?
  /// Whether it was given a number, because its name was taken: by a file of another address, or of the user's.
  package var isNumbered = false
  /// Content-Type of a file that was renamed, for a user who decides between the two files.
  package var mediaType: String?

  package init(
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

  package var hasReplaced: Bool { renamedFrom == path }

  /// Of its bytes, those that this run had to fetch: none of earlier runs, and none that came twice or for nothing. Nil
  /// for a file of which no body came.
  package var bodyBytes: Int64? { kind == .fetched || transferred > 0 ? size - resumed : nil }

  /// The last component of `path`: the name in the output folder.
  public var name: String { Self.lastSegment(path) }

  /// The name that it should have had: that of `renamedFrom`, or its own.
  package var wantedName: String { Self.lastSegment(renamedFrom ?? path) }

  /// By bytes, because a combining mark after the slash would form one `Character` with it.
  private static func lastSegment(_ path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }
}
