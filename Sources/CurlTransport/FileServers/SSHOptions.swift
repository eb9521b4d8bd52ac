import CCurl
import DownloadModel

/// libcurl's options for SSH on an easy handle that other schemes use, too.
struct SSHOptions {
  private var hasName = false

  /// For another scheme.
  mutating func unset(on easy: borrowing EasyHandle) throws(CurlFailure) {
    if hasName { try easy.set(CURLOPT_USERNAME, nil) }
    hasName = false
  }

  /// - Parameter hasLogin: whether other options give name and password.
  mutating func set(
    to address: Address, hasLogin: Bool, _ user: SSHUser, on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    try unset(on: easy)
    let files = user.files
    try easy.set(CURLOPT_SSH_AUTH_TYPES, dlm_ssh_auth_types)
    try easy.set(CURLOPT_SSH_PRIVATE_KEYFILE, files.key)
    try easy.set(CURLOPT_FILETIME, 1)
    try easy.set(CURLOPT_SSH_KNOWNHOSTS, user.path(for: address))
    guard !hasLogin, let name = files.name else { return }
    try easy.set(CURLOPT_USERNAME, name)
    hasName = true
  }
}
