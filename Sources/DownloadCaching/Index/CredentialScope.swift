import Crypto
import DownloadModel
import Glibc
import SystemPackage

/// Tells files that were fetched with credentials from those that were not (RFC 9111 §4, http.md 18), without
/// storing the credentials: the scope is a keyed hash, and the key is a secret of the cache folder.
struct CredentialScope: Sendable {
  private let key: SymmetricKey
  private static let keyLength = 32
  static let fileName = "scope-key"

  /// Reads the folder's key, and makes one where there is none.
  init(in folder: Folder) throws(Errno) {
    if let key = try Self.read(folder) {
      self.key = key
      return
    }
    let made = SymmetricKey(size: .bits256)
    let bytes = made.withUnsafeBytes { Array($0) }
    let draft = "\(Self.fileName).\(getpid())"
    let file = try folder.open(draft, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
    var offset: Int64 = 0
    try file.write(bytes, at: &offset)
    // Another process may have been faster; its key is as good, and both must use the same one.
    do throws(Errno) { try folder.rename(draft, toFree: Self.fileName) } catch .fileExists {
      try folder.remove(draft)
    }
    key = try Self.read(folder) ?? made
  }

  init(key: SymmetricKey) { self.key = key }

  /// Where no key can be kept: nothing of this process matches another one's.
  static func forThisProcess() -> CredentialScope {
    CredentialScope(key: SymmetricKey(size: .bits256))
  }

  /// Empty for a request without credentials.
  /// - Parameter more: whatever else says who asks, such as `Authorization` lines; nil for nothing.
  func name(of address: Address, more: String?) -> String {
    guard address.hasCredentials || more != nil else { return "" }
    let secret = Array(Self.userInfo(address)) + [0] + Array((more ?? "").utf8)
    let code = HMAC<SHA256>.authenticationCode(for: secret, using: key)
    // 96 bits tell all logins of the world apart; a row needs no more.
    return code.prefix(12).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// `user:password` as written, without the `@`.
  private static func userInfo(_ address: Address) -> Substring.UTF8View {
    let text = address.wireText.utf8
    let start = text.index(text.startIndex, offsetBy: address.scheme.rawValue.utf8.count + 3)
    let length = text.count - address.key.utf8.count
    return address.wireText[start..<text.index(start, offsetBy: length)].utf8
  }

  private static func read(_ folder: Folder) throws(Errno) -> SymmetricKey? {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try folder.open(fileName, O_RDONLY | O_NONBLOCK).read(keyLength)
    } catch .noSuchFileOrDirectory {
      return nil
    }
    return bytes.count == keyLength ? SymmetricKey(data: bytes) : nil
  }
}
