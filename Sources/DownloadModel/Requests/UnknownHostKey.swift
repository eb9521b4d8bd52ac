/// The key of a server over SSH that no file of the user has.
package struct UnknownHostKey: Sendable {
  package let host: String
  package let port: Int
  package let type: String
  /// In base64.
  package let key: String
  /// As ssh shows it.
  package let fingerprint: String

  package init(host: String, port: Int, type: String, key: String, fingerprint: String) {
    self.host = host
    self.port = port
    self.type = type
    self.key = key
    self.fingerprint = fingerprint
  }
}
