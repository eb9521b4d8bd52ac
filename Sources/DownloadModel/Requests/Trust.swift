/// The settings that make an answer this user's: the parts of requests that can select or unlock one, and how servers
/// are verified (HTTP rules 18, 29 and 30). With each answer, the cache stores a keyed hash of those that applied to
/// its request (`TrustMark`). Connection settings that do not change answers are in `TransportOptions`.
package struct Trust: Sendable {
  /// The program's name in requests, unless a header line gives another.
  package var userAgent: String
  /// Sent only to the origin of a request's URL, and not to a proxy.
  package var headerLines: [String] = []
  /// CURLOPT_NETRC_FILE.
  package var netrcFile: String?
  package var logins: NetrcLogins?
  /// CURLOPT_USERPWD, for requests that may carry the user's data; `logins` has it, too.
  package var login: String?
  /// The key for servers over SSH (`--identity`); `nil` for the usual one.
  package var identity: String?
  /// Where `s3://` URLs lead, and the login for them, as text.
  package var storage: [String] = []
  /// Lines of Netscape's format, as of the start of the run.
  package var cookies: [String] = []
  /// CURLOPT_CAINFO; `nil` for libcurl's default.
  package var caFile: String?
  /// CURLOPT_CAPATH, searched if the file does not contain an issuer; `nil` for libcurl's default.
  package var caFolder: String?
  /// Accepts any certificate (CURLOPT_SSL_VERIFYPEER and VERIFYHOST off).
  package var isInsecure = false
  package var tls = TLSOptions()
  /// Where the user has other servers answer for hosts than those of a lookup, as text.
  package var route: [String] = []
  /// A hash of a file of authorities, keys or revoked certificates. Called only for requests over TLS.
  package var fileDigest: @Sendable (_ path: String) -> String = { $0 }

  package init(userAgent: String = "") { self.userAgent = userAgent }

  /// Whether any server may answer over TLS: no certificate is verified, and no key is pinned.
  package var isUnchecked: Bool { isInsecure && tls.pinnedKeys == nil }

  /// The domain of a cookie's line, without the dot that extends it to subdomains.
  package static func cookieDomain(_ line: String) -> String {
    let field = line.prefix { $0 != "\t" }
    let host = field.hasPrefix("#HttpOnly_") ? field.dropFirst("#HttpOnly_".count) : field
    return (host.first == "." ? host.dropFirst() : host).lowercased()
  }
}
