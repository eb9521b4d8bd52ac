import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// The secret of the page: kept in a file of the user's, so that a bookmark stays valid.
struct AccessToken: Sendable {
  let text: String

  private static let name = "page.token"
  private static let length = 43

  init(text: String) { self.text = text }

  /// - Parameter state: a folder of the user's own.
  init(in state: FilePath) throws(Errno) {
    let folder = try Folder(own: state)
    if let file = try? folder.openOwn(Self.name), let bytes = try? file.read(Self.length), bytes.count == Self.length {
      text = String(utf8: bytes)
      return
    }
    // 256 bits in base64url (RFC 4648 §5), which a link takes without escapes.
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    text = String((0..<Self.length).map { _ in letters.randomElement() ?? "A" })
    _ = try? folder.removeOwn(Self.name)
    let file = try folder.open(Self.name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    try file.write(Array(text.utf8))
  }

  /// Compares in a time that does not depend on where the texts differ.
  func isEqual(to other: some StringProtocol) -> Bool {
    let (own, other) = (Array(text.utf8), Array(other.utf8))
    guard own.count == other.count else { return false }
    return zip(own, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
