/// The result of one file that did not fail.
public struct DownloadOutcome: Sendable, Equatable {
  /// How the file was obtained.
  public enum Kind: String, Sendable, Equatable {
    /// Its body was downloaded, in full or from the end of a saved part.
    case fetched
    /// The file existed already, and no body was transferred for this request.
    case unchanged
    /// The file existed already, and its server had said how long no request is needed (RFC 9111 §4.2).
    case fresh
    /// The same bytes existed elsewhere on this disk and were copied.
    case copied
    /// Its name was taken, and the user's policy says to skip such files (`--on-conflict skip`).
    case skipped
  }

  /// Something unusual about a file that did not fail.
  public enum Remark: String, Sendable, Equatable {
    /// The downloaded bytes equal those of the existing file, which stays.
    case sameAsHere = "same-as-here"
    /// The server answered 204 (RFC 9110 §15.3.5): it has nothing to send, and the file is empty.
    case noContent = "no-content"
    /// The existing file is used although it is stale: the user or the server allows that, or its server could not be
    /// reached (RFC 9111 §4.2.4, RFC 5861).
    case stale
    /// The server sent it in a content coding that dlm had not requested (RFC 9110 §8.4); the coding was removed.
    case decoded
    /// It stays in the content coding in which the server sent it: its name or type says so, or dlm does not support
    /// the coding.
    case stillCoded = "still-coded"
    /// The server calls it HTML, but its name is of another type: it may be a login or error page.
    case page = "html"
    /// Its server named a content coding, but the bytes are not in it; they are stored as received.
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
  /// The proof that it is complete and correct; `nil` if nothing was downloaded and nothing compared.
  public var proof: Proof?
  /// The algorithm of its checksum; `nil` if none was compared in this run.
  public var algorithm: ContentDigest.Algorithm?
  /// The intended path, if that name was taken; `path` itself if the file has replaced the other since.
  public var renamedFrom: String?
  /// Whether it got a number because its name was taken: by a file of another URL, or by a file of the user's.
  package var isNumbered = false
  /// Content-Type of a file that was renamed, for a user who decides between the two files.
  package var mediaType: String?

  package init(kind: Kind, path: String, size: Int64, transferred: Int64 = 0, resumed: Int64 = 0, proof: Proof? = nil) {
    self.kind = kind
    self.path = path
    self.size = size
    self.transferred = transferred
    self.resumed = resumed
    self.proof = proof
  }

  package var hasReplaced: Bool { renamedFrom == path }

  /// The bytes of the file that this run had to download: without bytes of earlier runs, and without bytes received
  /// twice or in vain. `nil` if no body was received.
  package var bodyBytes: Int64? { kind == .fetched || transferred > 0 ? size - resumed : nil }

  /// The last component of `path`: the name in the output folder.
  public var name: String { Self.lastSegment(path) }

  /// The intended name: that of `renamedFrom`, or its own.
  package var wantedName: String { Self.lastSegment(renamedFrom ?? path) }

  /// By bytes, because a combining mark after the slash would form one `Character` with it.
  private static func lastSegment(_ path: String) -> String {
    path.utf8.lastIndex(of: .slash).map { String(path[path.utf8.index(after: $0)...]) } ?? path
  }
}
