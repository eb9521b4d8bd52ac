extension Address {
  /// Whether it is a folder of a file server, which has a listing and no content.
  package var isServerFolder: Bool { !scheme.isHTTP && scheme != .data && lastPathSegment.isEmpty }

  /// The schemes over which dlm downloads, with the rules in which they differ.
  package enum Scheme: String, Sendable, CaseIterable {
    case http, https
    /// RFC 959 and RFC 1738 §3.2.2.
    case ftp
    /// FTP over TLS: from the first byte, or after AUTH TLS (RFC 4217).
    case ftps, ftpes
    /// Files over SSH. SCP knows no ranges.
    case sftp, scp
    /// A URL that contains its file (RFC 2397).
    case data

    package var isHTTP: Bool { self == .http || self == .https }

    package var isFTP: Bool {
      switch self {
      case .ftp, .ftps, .ftpes: true
      case .http, .https, .sftp, .scp, .data: false
      }
    }

    package var isSSH: Bool { self == .sftp || self == .scp }

    /// Whether the network between can neither read nor change the bytes.
    package var isEncrypted: Bool {
      switch self {
      case .https, .ftps, .ftpes, .sftp, .scp: true
      case .http, .ftp, .data: false
      }
    }

    var defaultPort: Int {
      switch self {
      case .http, .data: 80
      case .https: 443
      case .ftp, .ftpes: 21
      case .ftps: 990
      case .sftp, .scp: 22
      }
    }
  }
}
