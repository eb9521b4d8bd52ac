import Foundation
import Glibc

/// A real nginx on two loopback ports, plain and TLS (HTTP/1.1 and, by ALPN, HTTP/2), serving a folder that
/// the test fills.
///
///     let server = try await NginxServer()
///     defer { server.stop() }
///     try server.write(bytes, to: "a/file.bin")
package final class NginxServer: Sendable {
  private let server: LoopbackServer
  private var folder: TemporaryFolder { server.folder }

  private static let accessLogName = "access.log"

  /// Returns when both ports accept connections.
  /// - Parameters:
  ///   - httpLines: further lines of the http block, such as `limit_conn_zone $server_port zone=all:1m;`.
  ///   - serverLines: further lines of the server block, such as `location /slow/ { limit_rate 10k; }`.
  ///   - offersHTTP2: over TLS, by ALPN.
  /// - Throws: when nginx or openssl is missing, or nginx does not start.
  package init(
    httpLines: [String] = [], serverLines: [String] = [], offersHTTP2: Bool = true
  ) async throws {
    let folder = try TemporaryFolder()
    for name in ["root", "temporary"] {
      if mkdir(folder.path(name), 0o755) != 0 {
        throw SupportFailure.systemCall("mkdir \(name)", errno: errno)
      }
    }
    try await SelfSignedCertificate.make(in: folder)
    server = try await LoopbackServer(
      "/usr/sbin/nginx", package: "nginx-light", portCount: 2, folder: folder
    ) { path, ports in
      LoopbackServer.Launch(
        files: ["nginx.conf": Self.configuration(path, ports, httpLines, serverLines, offersHTTP2)],
        arguments: ["-p", path, "-c", "\(path)/nginx.conf", "-e", "stderr"])
    }
  }

  deinit { stop() }

  package var plainPort: UInt16 { server.ports[0] }
  package var tlsPort: UInt16 { server.ports[1] }

  package func url(_ path: String) -> String { server.url(path) }

  package func tlsURL(_ path: String) -> String { "https://localhost:\(tlsPort)\(path)" }

  /// The self-signed certificate, for `--cacert`; its names are `localhost` and `127.0.0.1`.
  package var caCertificatePath: String { folder.path(SelfSignedCertificate.certificate) }

  /// The folder that is served.
  package var documentRoot: String { folder.path("root") }

  @discardableResult
  package func write(_ bytes: [UInt8], to name: String) throws -> String {
    try folder.write(bytes, to: "root/\(name)")
  }

  /// The requests logged so far, in the order of their ends. A line may come a moment after the client has
  /// its answer: see `accessLog(atLeast:)`.
  package func accessLog() throws -> [AccessLogLine] {
    let text = String(decoding: try folder.read(Self.accessLogName), as: UTF8.self)
    // The last line may be half written.
    let whole = text.lastIndex(of: "\n").map { text[...$0] } ?? ""
    return try whole.split(separator: "\n").map { line in
      guard let parsed = AccessLogLine(line) else { throw SupportFailure("unknown access log line: \(line)") }
      return parsed
    }
  }

  /// Suspends until so many lines are there.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  package func accessLog(atLeast count: Int) async throws -> [AccessLogLine] {
    for _ in 0..<6000 {
      let lines = try accessLog()
      if lines.count >= count { return lines }
      // A file has no event that Foundation could wait for.
      try await Task.sleep(for: .milliseconds(10))
    }
    throw SupportFailure("waited in vain for \(count) access log lines; there are \(try accessLog().count)")
  }

  /// Empties the log. Wait for the lines of earlier requests before, or one may still follow.
  package func clearLog() throws(SupportFailure) {
    let path = folder.path(Self.accessLogName)
    // nginx appends (O_APPEND), so it goes on at the new end.
    if truncate(path, 0) != 0 { throw .systemCall("truncating \(path)", errno: errno) }
  }

  /// Ends nginx and waits for that, which takes a moment. May be called again; `deinit` does.
  package func stop() { server.stop() }

  /// The text of nginx.conf: everything it writes lies in one folder.
  ///
  /// One process without a master: nothing is left behind when it is killed, and it keeps the user (and so
  /// the access to the folder) that it was started with, root or not.
  private static func configuration(
    _ folder: String, _ ports: [UInt16], _ httpLines: [String], _ serverLines: [String], _ offersHTTP2: Bool
  ) -> String {
    """
    daemon off;
    master_process off;
    worker_processes 1;
    pid "\(folder)/nginx.pid";
    error_log stderr warn;
    events { worker_connections 4096; }
    http {
      log_format seen '\(AccessLogLine.format)';
      access_log "\(folder)/\(accessLogName)" seen;
      client_body_temp_path "\(folder)/temporary/body";
      proxy_temp_path "\(folder)/temporary/proxy";
      fastcgi_temp_path "\(folder)/temporary/fastcgi";
      uwsgi_temp_path "\(folder)/temporary/uwsgi";
      scgi_temp_path "\(folder)/temporary/scgi";
      default_type application/octet-stream;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 100000;
      keepalive_timeout 60s;
      \(httpLines.joined(separator: "\n  "))
      server {
        listen 127.0.0.1:\(ports[0]) backlog=4096;
        listen 127.0.0.1:\(ports[1]) ssl\(offersHTTP2 ? " http2" : "") backlog=4096;
        ssl_certificate "\(folder)/\(SelfSignedCertificate.certificate)";
        ssl_certificate_key "\(folder)/\(SelfSignedCertificate.key)";
        root "\(folder)/root";
        \(serverLines.joined(separator: "\n    "))
      }
    }

    """
  }
}

/// A line of nginx's access log, as `NginxServer` has it written.
package struct AccessLogLine: Sendable, Equatable {
  package let status: Int
  /// Without the head: `$body_bytes_sent`.
  package let bodyBytes: Int
  /// nginx's serial number of the connection.
  package let connection: Int
  /// With its query: `$request_uri`.
  package let target: String

  /// The value of nginx's `log_format` that this type reads.
  static let format = "$status $body_bytes_sent $connection $request_uri"

  /// - Returns: nil if the line is of another form.
  init?(_ text: some StringProtocol) {
    let words = text.split(separator: " ", maxSplits: 3)
    guard words.count == 4, let status = Int(words[0]), let bytes = Int(words[1]),
      let connection = Int(words[2])
    else { return nil }
    self.status = status
    bodyBytes = bytes
    self.connection = connection
    target = String(words[3])
  }
}
