/// What `dlm serve` hands to `dlm-serve`, as JSON.
package struct PageSettings: Codable, Equatable, Sendable {
  /// 0 for a free one.
  package var port: UInt16
  /// Downloads go into this folder and those below it. Absolute, without links.
  package var directory: String
  /// The folder of the records, absolute.
  package var state: String
  /// The program `dlm`.
  package var program: String
  /// Origins whose pages may use `/jsonrpc`; `*` for all.
  package var allowedOrigins: [String]
  /// Further names and ports of the server, as in `Host` (RFC 9110 §7.2): those of a reverse proxy.
  package var hosts: [String]

  package init(
    port: UInt16, directory: String, state: String, program: String, allowedOrigins: [String], hosts: [String]
  ) {
    self.port = port
    self.directory = directory
    self.state = state
    self.program = program
    self.allowedOrigins = allowedOrigins
    self.hosts = hosts
  }
}
