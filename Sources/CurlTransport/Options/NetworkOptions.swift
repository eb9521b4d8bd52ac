import CCurl

/// The way to servers, where the user chooses it. An answer that came another way may be another server's
/// (`RequestFingerprint`).
package struct NetworkOptions: Sendable {
  package enum Family: Sendable { case ipv4, ipv6 }

  /// The only kind of addresses to connect to (CURLOPT_IPRESOLVE); `nil` for both.
  package var family: Family?
  /// The interface, address or name of this machine to connect from (CURLOPT_INTERFACE).
  package var interface: String?
  /// `HOST:PORT:ADDRESS[,ADDRESS]…` each: used instead of a lookup (CURLOPT_RESOLVE).
  package var hosts: [String] = []
  /// The URL of a server that looks up all other hosts (CURLOPT_DOH_URL; RFC 8484).
  package var resolver: String?
  /// The socket to connect to, whatever the host (CURLOPT_UNIX_SOCKET_PATH).
  package var socket: String?

  package init() {}

  /// Whether the system's own addresses of a host may be used, too.
  var usesSystemAddresses: Bool { hosts.isEmpty && resolver == nil && socket == nil }

  func allows(_ address: String) -> Bool {
    family == nil || (family == .ipv6) == address.utf8.contains(UInt8(ascii: ":"))
  }

  func apply(to easy: borrowing EasyHandle) throws(CurlFailure) {
    switch family {
    case .ipv4: try easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
    case .ipv6: try easy.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
    case nil: break
    }
    if let interface { try easy.set(CURLOPT_INTERFACE, interface) }
    if let resolver { try easy.set(CURLOPT_DOH_URL, resolver) }
    if let socket { try easy.set(CURLOPT_UNIX_SOCKET_PATH, socket) }
  }
}
