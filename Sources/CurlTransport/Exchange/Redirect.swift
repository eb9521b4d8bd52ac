import DownloadModel

extension Address {
  /// CURLOPT_URL. libcurl has no scheme for FTP with AUTH TLS; it has an option.
  var transportText: String { scheme == .ftpes ? "ftp" + wireText.dropFirst(5) : wireText }

  /// This address with the login of another address of the same origin, if it has none itself.
  func withLogin(ifMissing other: Address) -> Address {
    guard !hasCredentials, other.hasCredentials, other.isSameOrigin(as: self) else { return self }
    let start = "\(scheme.rawValue)://"
    // Both are well formed, so the result is, too; it is parsed only to find its components.
    return (try? Address(start + other.login + Substring(wireText.utf8.dropFirst(start.utf8.count)))) ?? self
  }
}
