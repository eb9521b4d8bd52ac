/// The user's settings for TLS, except which authorities to trust.
package struct TLSOptions: Sendable {
  package struct Identity: Sendable {
    /// Its path (CURLOPT_SSLCERT).
    package var certificate: String
    /// A hash of the file's content, because a renewed certificate may have the same path.
    package var digest: String
    /// Whether the certificate is PKCS #12, including its key, and not PEM.
    package var isPKCS12: Bool
    /// The key's path in PEM (CURLOPT_SSLKEY); `nil` if the key is in the certificate's file.
    package var key: String?
    /// CURLOPT_KEYPASSWD, a secret. Empty for none: if it were unset, OpenSSL would ask at the terminal, on a loop's
    /// thread.
    package var passphrase: String

    package init(
      certificate: String, digest: String, isPKCS12: Bool, key: String? = nil, passphrase: String = ""
    ) {
      self.certificate = certificate
      self.digest = digest
      self.isPKCS12 = isPKCS12
      self.key = key
      self.passphrase = passphrase
    }
  }

  package enum Version: String, Sendable, Comparable, CaseIterable {
    case tls12 = "1.2"
    case tls13 = "1.3"

    /// CURL_SSLVERSION_TLSv1_2 and CURL_SSLVERSION_TLSv1_3.
    package var number: Int { self == .tls12 ? 6 : 7 }

    package static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
  }

  /// Sent only to the origins of the requested URLs.
  package var identity: Identity?
  /// Whether FTP must use TLS, also for `ftp://` (CURLUSESSL_ALL).
  package var isRequired = false
  /// `nil` for libcurl's default.
  package var oldest: Version?
  package var newest: Version?
  /// CURLOPT_PINNEDPUBLICKEY: `sha256//…;sha256//…` or a path.
  package var pinnedKeys: String?
  /// CURLOPT_CRLFILE, in PEM.
  package var revocationList: String?

  package init() {}
}
