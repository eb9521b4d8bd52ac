extension Address {
  /// The same file over https, at a host that serves what it has over FTP there, too; `nil` for any other URL.
  package var overHTTPS: Address? {
    guard scheme == .ftp, !hasCredentials, Self.hostsWithHTTPS.contains(hostAndPort) else { return nil }
    return try? Address("https" + key.dropFirst(3))
  }

  private static let hostsWithHTTPS: Set = [
    "ftp.ddbj.nig.ac.jp", "ftp.ebi.ac.uk", "ftp.ensembl.org", "ftp.ensemblgenomes.org", "ftp.gnu.org",
    "ftp.ncbi.nlm.nih.gov", "ftp.pride.ebi.ac.uk", "ftp.sra.ebi.ac.uk", "ftp.uniprot.org", "opendata.dwd.de",
  ]

  /// Whether it is a folder of a file server, which has a listing and no content.
  package var isServerFolder: Bool { ![.http, .https, .data, .file].contains(scheme) && lastPathSegment.isEmpty }

  /// The schemes over which dlm downloads, with the rules in which they differ.
  package enum Scheme: String, Sendable, CaseIterable {
    case http, https
    /// RFC 959 and RFC 1738 §3.2.2.
    case ftp
    /// FTP over TLS: from the first byte, or after AUTH TLS (RFC 4217).
    case ftps, ftpes
    /// Files over SSH. SCP knows no ranges.
    case sftp, scp
    /// An object of storage that speaks S3, by bucket and key: the network sees HTTP.
    case s3
    /// A file of this machine (RFC 8089).
    case file
    /// A URL that contains its file (RFC 2397).
    case data

    package var isHTTP: Bool { self == .http || self == .https }

    /// Whether answers have a head (RFC 9112 §2.1).
    package var hasHeads: Bool { isHTTP || self == .s3 }

    package var isFTP: Bool { self == .ftp || self == .ftps || self == .ftpes }

    package var isSSH: Bool { self == .sftp || self == .scp }

    /// Whether a file server sends a file from any byte on.
    package var startsAnywhere: Bool { isFTP || self == .sftp }

    /// Whether it reaches what only the user may, so that no server may name such a URL, in a list or a redirect.
    package var isPrivate: Bool { isSSH || self == .file }

    /// The most requests at a time to a host. Each connection over SSH costs both sides a key exchange, and OpenSSH
    /// drops connections while ten others are logging in (MaxStartups).
    package var mostAtOnce: Int { isSSH ? 8 : .max }

    /// Whether the network between can neither read nor change the bytes.
    package var isEncrypted: Bool {
      switch self {
      case .https, .ftps, .ftpes, .sftp, .scp, .s3, .file: true
      case .http, .ftp, .data: false
      }
    }

    var defaultPort: Int {
      switch self {
      case .http, .data, .file: 80
      case .https, .s3: 443
      case .ftp, .ftpes: 21
      case .ftps: 990
      case .sftp, .scp: 22
      }
    }
  }
}
