import CCurl

/// A proxy's address as curl has it: `[scheme://][user:password@]host[:port]`, the login percent-encoded where it needs to be.
public struct ProxyAddress: Sendable, Hashable {
  /// Those that libcurl speaks and dlm takes. With `socks4` and `socks5` this machine looks up the servers' names, with
  /// `socks4a` and `socks5h` the proxy does.
  public enum Scheme: String, Sendable, CaseIterable {
    case http, https, socks4, socks4a, socks5, socks5h

    /// libcurl's own (CURLOPT_PROXY).
    fileprivate var port: UInt16 { self == .https ? 443 : 1080 }
  }

  public let scheme: Scheme
  /// Without the brackets of an IPv6 address.
  public let host: String
  public let port: UInt16
  public let hasLogin: Bool
  /// CURLOPT_PROXY: with the login, for the wire only.
  let wireText: String
  /// Without the login, for people: `http://proxy.example.org:3128`.
  public let name: String

  /// Why a text is no proxy's address.
  public enum Malformed: Error, Equatable, Sendable {
    /// Another scheme than those of `Scheme`; this is its name.
    case scheme(String)
    /// This libcurl cannot speak TLS with a proxy.
    case noTLS
    case noHost
    case badHost
    case badPort
    /// Something stands behind the port: often a `/` of the password, which is to be written %2F.
    case path
    case controlCharacter
  }

  public init(_ text: some StringProtocol) throws(Malformed) {
    let bytes = Array(text.utf8)
    if bytes.contains(where: { $0 <= 0x20 || $0 == 0x7f }) { throw .controlCharacter }
    let mark = bytes.firstRange(of: "://".utf8)
    let word = mark.map { String(decoding: bytes[..<$0.lowerBound], as: UTF8.self).lowercased() } ?? "http"
    guard let scheme = Scheme(rawValue: word) else { throw .scheme(word) }
    if scheme == .https, !Self.speaksTLS { throw .noTLS }

    let start = mark?.upperBound ?? 0
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    guard bytes[end...].isEmpty || bytes[end...].elementsEqual("/".utf8) else { throw .path }
    let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@"))
    let login = bytes[start..<(at ?? start)]
    let authority = bytes[(at.map { $0 + 1 } ?? start)..<end]
    let hostEnd = try Self.endOfHost(authority)
    let written = authority[..<hostEnd]
    if hostEnd < end {
      let digits = String(decoding: authority[(hostEnd + 1)...], as: UTF8.self)
      guard let port = UInt16(digits), port > 0 else { throw .badPort }
      self.port = port
    } else {
      port = scheme.port
    }

    self.scheme = scheme
    hasLogin = !login.isEmpty
    host = String(
      decoding: written.filter { $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }, as: UTF8.self
    )
    .lowercased()
    let place = "\(String(decoding: written, as: UTF8.self).lowercased()):\(port)"
    name = "\(scheme.rawValue)://\(place)"
    // The login ends at the last @; libcurl takes the first.
    let plain = login.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
      .joined(separator: "%40".utf8)
    wireText =
      hasLogin ? "\(scheme.rawValue)://\(String(decoding: Array(plain), as: UTF8.self))@\(place)" : name
  }

  /// A text that may be a proxy's address, well formed or not, for people: nothing up to its last `@` but the scheme,
  /// since a password may hold any other sign.
  public static func redacted(_ text: some StringProtocol) -> String {
    let bytes = Array(text.utf8)
    let start = bytes.firstRange(of: "://".utf8)?.upperBound ?? 0
    guard let at = bytes[start...].lastIndex(of: UInt8(ascii: "@")) else { return String(text) }
    return String(decoding: bytes[..<start] + bytes[(at + 1)...], as: UTF8.self)
  }

  /// Where the host of `host[:port]` or `[v6][:port]` ends.
  private static func endOfHost(_ authority: ArraySlice<UInt8>) throws(Malformed) -> Int {
    guard let first = authority.first else { throw .noHost }
    var end = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    if first == UInt8(ascii: "[") {
      guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .badHost }
      end = close + 1
      guard end == authority.endIndex || authority[end] == UInt8(ascii: ":") else { throw .badHost }
    }
    guard end > authority.startIndex else { throw .noHost }
    if authority[..<end].contains(where: { "<>\"\\^`{|}".utf8.contains($0) }) { throw .badHost }
    return end
  }

  private static let speaksTLS = dlm_curl_has_https_proxy() != 0
}
