/// What the user may say about TLS beside whom to trust.
public struct TLSOptions: Sendable {
  /// What the user shows to a server that asks who they are.
  public struct Identity: Sendable {
    /// Its path (CURLOPT_SSLCERT).
    public var certificate: String
    /// Whether that is PKCS #12, with the key in it, and not PEM.
    public var isPKCS12: Bool
    /// The key's path in PEM (CURLOPT_SSLKEY); nil where it is in the certificate's file.
    public var key: String?
    /// CURLOPT_KEYPASSWD. A secret. Empty for none: without any, OpenSSL would ask at the terminal, on a loop's thread.
    public var passphrase: String

    public init(certificate: String, isPKCS12: Bool, key: String? = nil, passphrase: String = "") {
      self.certificate = certificate
      self.isPKCS12 = isPKCS12
      self.key = key
      self.passphrase = passphrase
    }
  }

  public enum Version: Int, Sendable, Comparable {
    /// CURL_SSLVERSION_TLSv1_2.
    case tls12 = 6
    /// CURL_SSLVERSION_TLSv1_3.
    case tls13 = 7

    public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
  }

  /// Shown to the origins of the addresses that are asked for, and not to others that redirects lead to.
  public var identity: Identity?
  /// The oldest version; nil for libcurl's own.
  public var oldest: Version?
  /// The newest version; nil for libcurl's own.
  public var newest: Version?
  /// CURLOPT_PINNEDPUBLICKEY: `sha256//…;sha256//…` or a path.
  public var pinnedKeys: String?
  /// CURLOPT_CRLFILE, in PEM.
  public var revocationList: String?

  public init() {}

  /// CURLOPT_SSLVERSION; nil for libcurl's own.
  var versionBits: Int? {
    guard oldest != nil || newest != nil else { return nil }
    return (oldest?.rawValue ?? 0) | (newest?.rawValue ?? 0) << 16
  }
}
