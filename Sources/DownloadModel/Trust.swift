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

/// The user's settings for TLS, except which authorities to trust.
package struct TLSOptions: Sendable {
  package struct Identity: Sendable {
    /// Its path (CURLOPT_SSLCERT).
    package var certificate: String
    /// A hash of what stands there, because a renewed certificate may have the same path.
    package var digest: String
    /// Whether the certificate is PKCS #12, with its key, and not PEM.
    package var isPKCS12: Bool
    /// The key's path in PEM (CURLOPT_SSLKEY); nil if the key is in the certificate's file.
    package var key: String?
    /// CURLOPT_KEYPASSWD, a secret. Empty for none; unset, OpenSSL would ask at the terminal, on a loop's thread.
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

    /// CURL_SSLVERSION_TLSv1_2 and its like.
    package var number: Int { self == .tls12 ? 6 : 7 }

    package static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
  }

  /// Shown to the origins of the requested addresses only.
  package var identity: Identity?
  /// Nil for libcurl's default.
  package var oldest: Version?
  package var newest: Version?
  /// CURLOPT_PINNEDPUBLICKEY: `sha256//…;sha256//…` or a path.
  package var pinnedKeys: String?
  /// CURLOPT_CRLFILE, in PEM.
  package var revocationList: String?

  package init() {}
}

/// A header line as users write it: `Name: value`, or, as for curl, `Name;` for a field without a value.
package struct HeaderLine: Equatable {
  /// Lower case.
  package let name: String
  package let value: String

  package init(_ line: String) {
    let end = line.utf8.firstIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") } ?? line.endIndex
    name = OptionalWhiteSpace.trimmed(line[..<end]).lowercased()
    value = String(OptionalWhiteSpace.trimmed(Substring(line.utf8[end...].dropFirst())))
  }
}

/// The subjects on which only dlm itself may send header lines: with a user's `Range`, half a file would pass for all.
package enum ReservedMatter: Sendable, Equatable {
  case proxyLogin, range, condition, coding, body

  /// Nil for a field, in lower case, that anybody may send.
  package init?(field: some StringProtocol) {
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
