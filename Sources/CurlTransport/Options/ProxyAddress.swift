import CCurl
import DownloadModel

/// `[scheme://][user:password@]host[:port]`, with the login percent-encoded where needed.
package struct ProxyAddress: Sendable, Hashable {
  /// With `socks4` and `socks5` this machine looks up the servers' names; with `socks4a` and `socks5h` the proxy does.
  package enum Scheme: String, Sendable, CaseIterable {
    case http, https, socks4, socks4a, socks5, socks5h

    fileprivate var port: UInt16 { self == .https ? 443 : 1080 }
  }

  package let scheme: Scheme
  /// Without the brackets of an IPv6 address.
  package let host: String
  package let port: UInt16
  package let hasLogin: Bool
  /// CURLOPT_PROXY, with the login; never shown.
  let wireText: String
  /// Without the login, for messages: `http://proxy.example.org:3128`.
  package let name: String

  /// Why a text is not the address of a proxy.
  package enum Malformed: Error, Equatable, Sendable {
    /// A scheme that is not in `Scheme`; the value is its name.
    case scheme(String)
    /// This libcurl does not support TLS to a proxy.
    case noTLS
    case noHost
    case badHost
    case badPort
    /// Text follows the port: often a `/` of the password, which must be written %2F.
    case path
    case controlCharacter
  }

  package init(_ text: some StringProtocol) throws(Malformed) {
    let bytes = Array(text.utf8)
    if bytes.contains(where: { $0 <= 0x20 || $0 == 0x7f }) { throw .controlCharacter }
    let mark = bytes.place(of: "://")
    let word = mark.map { String(utf8: bytes[..<$0.lowerBound]).lowercased() } ?? "http"
    guard let scheme = Scheme(rawValue: word) else { throw .scheme(word) }
    if scheme == .https, !Self.speaksTLS { throw .noTLS }

    let start = mark?.upperBound ?? 0
    let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
    guard bytes[end...].isEmpty || Array(bytes[end...]) == Array("/".utf8) else { throw .path }
    let at = bytes[start..<end].lastIndex(of: .atSign)
    let login = bytes[start..<(at ?? start)]
    let authority = bytes[(at.map { $0 + 1 } ?? start)..<end]
    let hostEnd: Int
    do { hostEnd = try Address.endOfHost(authority) } catch {
      throw error == .noHost ? .noHost : error == .badPort ? .badPort : .badHost
    }
    let written = authority[..<hostEnd]
    let digits = String(utf8: authority[hostEnd...].dropFirst())
    guard let port = hostEnd < end ? UInt16(digits) : scheme.port, port > 0 else { throw .badPort }

    self.scheme = scheme
    self.port = port
    hasLogin = !login.isEmpty
    let text = String(utf8: written).lowercased()
    host = String(text.unicodeScalars.filter { $0 != "[" && $0 != "]" })
    name = "\(scheme.rawValue)://\(text):\(port)"
    let plain = String(utf8: Address.plainLogin(login))
    wireText = hasLogin ? "\(scheme.rawValue)://\(plain)@\(text):\(port)" : name
  }

  private static let speaksTLS = dlm_curl_has_https_proxy() != 0

  // MARK: What an answer shows about the proxy

  /// Whether the proxy reads requests to URLs of that scheme itself, instead of tunnelling bytes.
  private func reads(_ target: Address.Scheme) -> Bool { target == .http && [.http, .https].contains(scheme) }

  /// Recognises a 407, which servers do not send (RFC 9110 §15.5.8), or the 401 that tinyproxy sends for a wrong login.
  /// - Parameter peer: the port of the connection's peer (CURLINFO_PRIMARY_PORT).
  func refusesLogin(_ head: ResponseHead, to target: Address.Scheme, port peer: @autoclosure () -> Int) -> Bool {
    switch head.status {
    // Hosts in NO_PROXY are connected directly.
    case 407: reads(target) && peer() == Int(port)
    case 401: reads(target) && head["server"]?.utf8.starts(with: "tinyproxy/".utf8) == true
    default: false
    }
  }

  /// Over plain http the proxy may have sent some statuses itself; in a tunnel all are the server's.
  func letsThrough(_ status: Int, from target: Address.Scheme) -> Bool {
    !reads(target) || status < 500 && ![401, 403].contains(status)
  }
}
