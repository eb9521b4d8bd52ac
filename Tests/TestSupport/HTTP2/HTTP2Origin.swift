import Foundation
import Glibc

/// An HTTP/2 origin over TLS and ALPN that resets streams (see http2_origin.py).
///
///     let origin = try await HTTP2Origin()
///     defer { origin.stop() }
public final class HTTP2Origin: Sendable {
  public let port: Int
  private let folder: TemporaryFolder
  private let process: CommandRun

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3, its h2 module or openssl is missing.
  public init() async throws(SupportFailure) {
    folder = try TemporaryFolder()
    do { try await NginxServer.makeCertificate(in: folder) } catch { throw SupportFailure("\(error)") }
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("http2_origin.py").path
    process = try CommandRun(
      "/usr/bin/python3",
      [script, folder.path(NginxConfiguration.certificate), folder.path(NginxConfiguration.key)])
    try await process.wait(forOutput: "\n")
    guard let port = Int(process.outputText.prefix { $0.isNumber }) else {
      throw SupportFailure("no port: \(process.outputText) \(process.errorText)")
    }
    self.port = port
  }

  deinit { stop() }

  public func url(_ path: String) -> String { "https://localhost:\(port)\(path)" }

  /// The self-signed certificate, for `--cacert`.
  public var certificatePath: String { folder.path(NginxConfiguration.certificate) }

  /// May be called again; `deinit` does.
  public func stop() {
    process.send(SIGKILL)
    _ = process.blockUntilExit()
  }
}
