import Crypto
import DownloadModel

/// Tells files that were fetched with credentials from those that were not (RFC 9111 §4, http.md 18), without
/// storing the credentials: the scope is a keyed hash, and the key is the user's secret.
struct CredentialScope: Sendable {
  private let key: SymmetricKey

  init(key: SymmetricKey) { self.key = key }

  /// Empty for a request without credentials.
  /// - Parameter more: whatever else says who asks: header lines, the login of a netrc file; nil for nothing.
  func name(of address: Address, more: String?) -> String {
    guard address.hasCredentials || more != nil else { return "" }
    return digest(Array(Self.userInfo(address)) + [0] + Array((more ?? "").utf8))
  }

  /// A name for a text that may hold a secret.
  func digest(_ secret: [UInt8]) -> String {
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
}
