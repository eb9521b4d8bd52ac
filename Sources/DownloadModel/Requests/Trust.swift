/// What makes an answer this user's: what requests carry that can select or unlock one, and how servers are checked
/// (HTTP rules 18, 29 and 30). The cache keeps a hash of it beside each answer; connection settings on which no answer
/// depends are in `TransportOptions`.
package struct Trust: Sendable {
  /// How dlm names itself, unless a header line does.
  package var userAgent: String
  /// Sent to the origin of a request's address only, and not to a proxy.
  package var headerLines: [String] = []
  /// CURLOPT_NETRC_FILE.
  package var netrcFile: String?
  package var logins: NetrcLogins?
  /// Lines of Netscape's format, as they were when the run began.
  package var cookies: [String] = []
  /// CURLOPT_CAINFO; nil for libcurl's default.
  package var caFile: String?
  /// CURLOPT_CAPATH, searched where the file does not know an issuer; nil for libcurl's default.
  package var caFolder: String?
  /// Accepts any certificate (CURLOPT_SSL_VERIFYPEER and VERIFYHOST off).
  package var isInsecure = false
  package var tls = TLSOptions()
  /// A hash of a file of authorities, keys or revoked certificates. Read only for requests over TLS.
  package var fileDigest: @Sendable (_ path: String) -> String = { $0 }

  package init(userAgent: String = "") { self.userAgent = userAgent }

  /// Whether anybody may answer over TLS: no certificate is verified, and no key is pinned.
  package var isUnchecked: Bool { isInsecure && tls.pinnedKeys == nil }

  /// The domain of a cookie's line, without the dot that says that its subdomains get it too.
  package static func cookieDomain(_ line: String) -> String {
    let field = line.prefix { $0 != "\t" }
    let host = field.hasPrefix("#HttpOnly_") ? field.dropFirst("#HttpOnly_".count) : field
    return (host.first == "." ? host.dropFirst() : host).lowercased()
  }
}
