/// What makes an answer this user's: what requests carry that can select or unlock one, and how servers are checked
/// (HTTP rules 18, 29 and 30).
///
/// Requests are made by it, and the cache keeps a hash of it beside what they brought. So every setting for connections
/// stands either here or among those of `TransportOptions` on which no answer depends.
public struct Trust: Sendable {
  /// How dlm names itself, unless a header line does.
  public var userAgent: String
  /// The user's own header lines, sent with every request to the origin of its address, but not to a proxy, and not to
  /// another origin to which a redirect leads.
  public var headerLines: [String] = []
  /// CURLOPT_NETRC_FILE.
  public var netrcFile: String?
  /// What that file says.
  public var logins: NetrcLogins?
  /// The cookies kept from earlier runs, as they were when this one began: lines of Netscape's format.
  public var cookies: [String] = []
  /// CURLOPT_CAINFO; nil for libcurl's default.
  public var caFile: String?
  /// Accepts any certificate (CURLOPT_SSL_VERIFYPEER and VERIFYHOST off).
  public var isInsecure = false
  public var tls = TLSOptions()
  /// By the path of a file of authorities, keys or revoked certificates, a hash of what stands there: others under the
  /// same path check servers otherwise.
  public var fileDigests: [String: String] = [:]

  public init(userAgent: String = "") { self.userAgent = userAgent }

  /// Whether anybody may answer over TLS: no certificate is verified, and no key is pinned.
  public var isUnchecked: Bool { isInsecure && tls.pinnedKeys == nil }

  /// The domain of a cookie's line, without the dot that says that its subdomains get it too.
  package static func cookieDomain(_ line: String) -> String {
    let field = line.prefix { $0 != "\t" }
    let host = field.hasPrefix("#HttpOnly_") ? field.dropFirst("#HttpOnly_".count) : field
    return (host.first == "." ? host.dropFirst() : host).lowercased()
  }
}

/// The user's settings for TLS, except which authorities to trust.
public struct TLSOptions: Sendable {
  /// The user's certificate for servers that require one.
  public struct Identity: Sendable {
    /// Its path (CURLOPT_SSLCERT).
    public var certificate: String
    /// A hash of what stands there: a renewed certificate is another one under the same path.
    public var digest: String
    /// Whether the certificate is PKCS #12, with its key, and not PEM.
    public var isPKCS12: Bool
    /// The key's path in PEM (CURLOPT_SSLKEY); nil if the key is in the certificate's file.
    public var key: String?
    /// CURLOPT_KEYPASSWD. A secret. Empty for none: if it were not set, OpenSSL would ask at the terminal, on a loop's
    /// thread.
    public var passphrase: String

    public init(
      certificate: String, digest: String, isPKCS12: Bool, key: String? = nil, passphrase: String = ""
    ) {
      (self.certificate, self.digest, self.isPKCS12) = (certificate, digest, isPKCS12)
      (self.key, self.passphrase) = (key, passphrase)
    }
  }

  public enum Version: Int, Sendable, Comparable {
    /// CURL_SSLVERSION_TLSv1_2.
    case tls12 = 6
    /// CURL_SSLVERSION_TLSv1_3.
    case tls13 = 7

    public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
  }

  /// Shown to the origins of the requested addresses, and not to others to which redirects lead.
  public var identity: Identity?
  /// The oldest version; nil for libcurl's default.
  public var oldest: Version?
  /// The newest version; nil for libcurl's default.
  public var newest: Version?
  /// CURLOPT_PINNEDPUBLICKEY: `sha256//…;sha256//…` or a path.
  public var pinnedKeys: String?
  /// CURLOPT_CRLFILE, in PEM.
  public var revocationList: String?

  public init() {}
}

/// The subjects on which only dlm itself may send header lines, whoever else adds some: a user's `Range` would have
/// half a file taken for the whole.
public enum ReservedMatter: Sendable, Equatable {
  case proxyLogin, range, condition, coding, body

  /// - Parameter field: the name of a header field, in lower case.
  /// - Returns: nil for one that anybody may send.
  public init?(field: some StringProtocol) {
    switch field {
    case "proxy-authorization": self = .proxyLogin
    case "range", "if-range": self = .range
    case "if-none-match", "if-modified-since", "if-match", "if-unmodified-since": self = .condition
    case "accept-encoding": self = .coding
    case "content-length", "transfer-encoding", "expect": self = .body
    default: return nil
    }
  }
}
