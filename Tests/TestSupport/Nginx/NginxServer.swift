import Foundation
import Glibc

/// A real nginx on two loopback ports, plain and TLS (HTTP/1.1 and, by ALPN, HTTP/2), serving a folder that the
/// test fills.
///
///     let server = try await NginxServer()
///     defer { server.stop() }
///     try server.write(bytes, to: "a/file.bin")
public final class NginxServer: Sendable {
  public let plainPort: UInt16
  public let tlsPort: UInt16
  private let folder: TemporaryFolder
  private let process: CommandRun

  /// Another program may take a port between its choice and nginx's bind.
  private static let portAttempts = 5

  /// Returns when both ports accept connections.
  /// - Parameters:
  ///   - httpLines: further lines of the http block, such as `limit_conn_zone $server_port zone=all:1m;`.
  ///   - serverLines: further lines of the server block, such as `location /slow/ { limit_rate 10k; }`.
  /// - Throws: when nginx or openssl is missing, or nginx does not start.
  public init(httpLines: [String] = [], serverLines: [String] = []) async throws(SupportFailure) {
    let binary = try Self.binary()
    folder = try TemporaryFolder()
    try Self.makeFolders(in: folder)
    try await Self.makeCertificate(in: folder)
    var failure = SupportFailure("nginx did not start")
    for _ in 0..<Self.portAttempts {
      let ports = try Self.freePorts()
      let configuration = NginxConfiguration(
        folder: folder.path, plainPort: ports.plain, tlsPort: ports.tls, httpLines: httpLines,
        serverLines: serverLines)
      do throws(SupportFailure) {
        process = try await Self.start(binary, configuration, in: folder)
        (plainPort, tlsPort) = ports
        return
      } catch {
        failure = error
      }
    }
    throw failure
  }

  deinit { stop() }

  public func url(_ path: String) -> String { "http://127.0.0.1:\(plainPort)\(path)" }

  public func tlsURL(_ path: String) -> String { "https://localhost:\(tlsPort)\(path)" }

  /// The self-signed certificate, for `--cacert`; its names are `localhost` and `127.0.0.1`.
  public var caCertificatePath: String { folder.path(NginxConfiguration.certificate) }

  /// The folder that is served.
  public var documentRoot: String { folder.path(NginxConfiguration.documentRoot) }

  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) throws -> String {
    try folder.write(bytes, to: "\(NginxConfiguration.documentRoot)/\(name)")
  }

  /// The requests logged so far, in the order of their ends. A line may come a moment after the client has its
  /// answer: see `accessLog(atLeast:)`.
  public func accessLog() throws -> [AccessLogLine] {
    let text = String(decoding: try folder.read(NginxConfiguration.accessLog), as: UTF8.self)
    // The last line may be half written.
    let whole = text.lastIndex(of: "\n").map { text[...$0] } ?? ""
    return try whole.split(separator: "\n").map { line in
      guard let parsed = AccessLogLine(line) else { throw SupportFailure("unknown access log line: \(line)") }
      return parsed
    }
  }

  /// Suspends until so many lines are there.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  public func accessLog(atLeast count: Int) async throws -> [AccessLogLine] {
    for _ in 0..<6000 {
      let lines = try accessLog()
      if lines.count >= count { return lines }
      // A file has no event that Foundation could wait for.
      try await Task.sleep(for: .milliseconds(10))
    }
    throw SupportFailure("waited in vain for \(count) access log lines; there are \(try accessLog().count)")
  }

  /// Empties the log. Wait for the lines of earlier requests before, or one may still follow.
  public func clearLog() throws(SupportFailure) {
    let path = folder.path(NginxConfiguration.accessLog)
    // nginx appends (O_APPEND), so it goes on at the new end.
    if truncate(path, 0) != 0 { throw .systemCall("truncating \(path)", errno: errno) }
  }

  /// Ends nginx and waits for that, which takes a moment. May be called again; `deinit` does.
  public func stop() {
    guard process.send(SIGQUIT) else { return }
    if !process.blockUntilExit(before: Date(timeIntervalSinceNow: 10)) {
      process.send(SIGKILL)
      _ = process.blockUntilExit()
    }
  }
}
