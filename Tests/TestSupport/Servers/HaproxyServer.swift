import Glibc

extension LoopbackServer {
  /// HAProxy before another server on this machine.
  /// - Parameters:
  ///   - backend: the port of the server that it asks.
  ///   - frontend: lines of its frontend, such as `maxconn 3`.
  ///   - backendLines: lines of its backend.
  public static func haproxy(
    before backend: UInt16, frontend: [String] = [], backendLines: [String] = []
  ) async throws -> LoopbackServer {
    try await LoopbackServer("/usr/sbin/haproxy", package: "haproxy") { path, ports in
      let text = """
        global
          maxconn 2000
        defaults
          mode http
          timeout connect 5s
          timeout client 60s
          timeout server 60s
          timeout http-keep-alive 60s
        frontend front
          bind 127.0.0.1:\(ports[0])
          \(frontend.joined(separator: "\n  "))
          default_backend back
        backend back
          \(backendLines.joined(separator: "\n  "))
          server one 127.0.0.1:\(backend)

        """
      return Launch(files: ["haproxy.cfg": text], arguments: ["-db", "-f", "\(path)/haproxy.cfg"])
    }
  }
}
