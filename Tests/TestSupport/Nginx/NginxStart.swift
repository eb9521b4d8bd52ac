import Foundation
import Glibc

extension NginxServer {
  /// Debian's place, which is not in every user's PATH, and then the PATH.
  static func binary(
    _ first: String = "/usr/sbin/nginx", environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(SupportFailure) -> String {
    let folders = (environment["PATH"] ?? "").split(separator: ":")
    let candidates = [first] + folders.map { "\($0)/nginx" }
    guard let found = candidates.first(where: FileManager.default.isExecutableFile) else {
      throw SupportFailure(
        "nginx is not installed; Config/test installs it (Debian: apt-get install nginx-light)")
    }
    return found
  }

  static func makeFolders(in folder: TemporaryFolder) throws(SupportFailure) {
    for name in [NginxConfiguration.documentRoot, "temporary"] {
      if mkdir(folder.path(name), 0o755) != 0 { throw .systemCall("mkdir \(name)", errno: errno) }
    }
  }

  /// Self-signed, for this run only.
  static func makeCertificate(in folder: TemporaryFolder) async throws(SupportFailure) {
    let result = try await CommandRun.result(
      of: "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout", folder.path(NginxConfiguration.key), "-out", folder.path(NginxConfiguration.certificate),
      ])
    guard result.status == 0 else { throw SupportFailure("openssl made no certificate: \(result.errorText)") }
  }

  static func freePorts() throws(SupportFailure) -> (plain: UInt16, tls: UInt16) {
    let ports = try LoopbackSocket.freePorts(2)
    return (ports[0], ports[1])
  }

  static func start(
    _ binary: String, _ configuration: NginxConfiguration, in folder: TemporaryFolder
  ) async throws(SupportFailure) -> CommandRun {
    let file = folder.path("nginx.conf")
    do {
      try folder.write(Array(configuration.text.utf8), to: "nginx.conf")
    } catch {
      throw SupportFailure("cannot write \(file): \(error)")
    }
    let process = try CommandRun(binary, ["-p", folder.path, "-c", file, "-e", "stderr"])
    for port in [configuration.plainPort, configuration.tlsPort] {
      try await LoopbackServer.waitUntilAccepting(port, process)
    }
    return process
  }
}
