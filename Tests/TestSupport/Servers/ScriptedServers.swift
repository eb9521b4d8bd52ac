import Foundation
import Glibc

/// A server that is a Python script beside this file: it prints its port, and then whatever it has to tell.
private struct PythonServer: Sendable {
  let process: CommandRun
  let port: Int

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3 or a module that the script needs is missing.
  init(_ script: String, _ arguments: [String]) async throws(SupportFailure) {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let modules = folder.appendingPathComponent("../../../.build/store").standardizedFileURL.path
    let python = ["PYTHONPATH=\(modules)", "/usr/bin/python3", folder.appendingPathComponent(script).path]
    process = try CommandRun("/usr/bin/env", python + arguments)
    try await process.wait(forOutput: "\n")
    guard let port = Int(process.outputText.prefix { $0.isNumber }) else {
      throw SupportFailure("no port: \(process.outputText) \(process.errorText)")
    }
    self.port = port
  }

  func stop() {
    process.send(SIGKILL)
    _ = process.blockUntilExit()
  }
}

/// An HTTP/2 origin over TLS and ALPN that resets streams (see http2_origin.py).
///
///     let origin = try await HTTP2Origin()
///     defer { origin.stop() }
package final class HTTP2Origin: Sendable {
  private let folder: TemporaryFolder
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3, its h2 module or openssl is missing.
  package init() async throws(SupportFailure) {
    folder = try TemporaryFolder()
    try await SelfSignedCertificate.make(in: folder)
    server = try await PythonServer(
      "http2_origin.py",
      [folder.path(SelfSignedCertificate.certificate), folder.path(SelfSignedCertificate.key)])
  }

  deinit { stop() }

  package func url(_ path: String) -> String { "https://localhost:\(server.port)\(path)" }

  /// The self-signed certificate, for `--cacert`.
  package var certificatePath: String { folder.path(SelfSignedCertificate.certificate) }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// An HTTPS origin that tells what each request brought (see tls_origin.py).
///
///     let origin = try await TLSOrigin(["/f": .body("text"), "/away": .redirect(other.url("/g"))])
///     defer { origin.stop() }
package final class TLSOrigin: Sendable {
  package enum Answer: Sendable {
    case body(String)
    case redirect(String)
  }

  private let folder: TemporaryFolder
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Parameters:
  ///   - authority: whose client certificates it asks for, without needing one; nil to ask for none.
  ///   - identity: files of its certificate and key; nil for a self-signed one of its own.
  /// - Throws: when /usr/bin/python3 or openssl is missing.
  package init(
    _ routes: [String: Answer], authority: String? = nil, identity: (certificate: String, key: String)? = nil
  ) async throws(SupportFailure) {
    folder = try TemporaryFolder()
    try await SelfSignedCertificate.make(in: folder)
    let texts = routes.map { path, answer in
      switch answer {
      case .body(let text): "\(path)=\(text)"
      case .redirect(let address): "\(path)>\(address)"
      }
    }
    server = try await PythonServer(
      "tls_origin.py",
      [
        identity?.certificate ?? folder.path(SelfSignedCertificate.certificate),
        identity?.key ?? folder.path(SelfSignedCertificate.key), authority ?? "-",
      ]
        + texts)
  }

  deinit { stop() }

  package func url(_ path: String) -> String { "https://localhost:\(server.port)\(path)" }

  /// The self-signed certificate, for `--cacert`.
  package var certificatePath: String { folder.path(SelfSignedCertificate.certificate) }

  /// What came with each request for a path, once there is one: header line, cookie, certificate, login; `-` for
  /// none.
  package func brought(to path: String) async throws(SupportFailure) -> [[String]] {
    try await server.process.wait(forOutput: "\(path)|")
    return server.process.outputText.split(separator: "\n")
      .map { $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init) }
      .filter { $0.count == 5 && $0[0] == path }.map { Array($0.dropFirst()) }
  }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// A DNS-over-HTTPS server to which every host is this machine (see doh_server.py).
///
///     let server = try await DoHServer()
///     defer { server.stop() }
package final class DoHServer: Sendable {
  private let folder: TemporaryFolder
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3 or openssl is missing.
  package init() async throws(SupportFailure) {
    folder = try TemporaryFolder()
    try await SelfSignedCertificate.make(in: folder)
    server = try await PythonServer(
      "doh_server.py", [folder.path(SelfSignedCertificate.certificate), folder.path(SelfSignedCertificate.key)])
  }

  deinit { stop() }

  package var url: String { "https://localhost:\(server.port)/dns-query" }

  /// The self-signed certificate, for `--cacert`.
  package var certificatePath: String { folder.path(SelfSignedCertificate.certificate) }

  /// The hosts that were asked for, in the order of the questions.
  package var asked: [String] { server.process.outputText.split(separator: "\n").dropFirst().map(String.init) }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// An FTP server that serves a folder, and goes wrong as its faults say (see ftp_server.py).
///
///     let server = try await FTPServer(faults: ["a.bin=silent"])
///     defer { server.stop() }
package final class FTPServer: Sendable {
  package let folder: TemporaryFolder
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3 is missing.
  package init(faults: [String] = []) async throws(SupportFailure) {
    folder = try TemporaryFolder()
    server = try await PythonServer("ftp_server.py", [folder.path] + faults)
  }

  deinit { stop() }

  package var port: Int { server.port }

  package func url(_ path: String, login: String = "") -> String { "ftp://\(login)127.0.0.1:\(port)\(path)" }

  /// The commands of all connections, in the order in which they came.
  package var commands: [String] { server.process.outputText.split(separator: "\n").dropFirst().map(String.init) }

  /// How many commands of a kind came, once there are that many: they are told after they are answered.
  package func count(_ verb: String, atLeast least: Int = 0) async throws -> Int {
    var count = 0
    try await poll("\(least) of \(verb)") {
      count = commands.count { $0 == verb || $0.hasPrefix(verb + " ") }
      return count >= least
    }
    return count
  }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// Storage that speaks S3, and checks each signature (see s3_server.py).
///
///     let server = try await S3Server(faults: ["page=2"])
///     defer { server.stop() }
package final class S3Server: Sendable {
  /// With a folder for each bucket; a slash of a key is `%2F` in the name of its file.
  package let folder: TemporaryFolder
  private let server: PythonServer

  /// The login, in AWS's variables, and where the server is.
  package var variables: [String: String] {
    [
      "AWS_ACCESS_KEY_ID": "AK/+key", "AWS_SECRET_ACCESS_KEY": "SK/+secret",
      "AWS_ENDPOINT_URL": "http://127.0.0.1:\(server.port)",
    ]
  }

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3 is missing.
  package init(faults: [String] = []) async throws(SupportFailure) {
    folder = try TemporaryFolder()
    server = try await PythonServer("s3_server.py", [folder.path] + faults)
  }

  deinit { stop() }

  package func write(_ bytes: [UInt8], bucket: String = "bucket", key: String) throws {
    try folder.write(bytes, to: "\(bucket)/\(key.replacing("/", with: "%2F"))")
  }

  /// Each request: status, path, `signed` or `open`.
  package var requests: [String] { server.process.outputText.split(separator: "\n").dropFirst().map(String.init) }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// moto as storage that speaks S3 (see moto_server.py).
///
///     let server = try await MotoServer()
///     defer { server.stop() }
package final class MotoServer: Sendable {
  private let folder: TemporaryFolder
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Throws: when /usr/bin/python3, moto or what that needs is missing.
  package init() async throws {
    folder = try TemporaryFolder()
    server = try await PythonServer("moto_server.py", [folder.path])
  }

  deinit { stop() }

  /// The login, in AWS's variables, and where the server is.
  package var variables: [String: String] {
    let words = server.process.outputText.prefix { $0 != "\n" }.split(separator: " ").map(String.init)
    return [
      "AWS_ACCESS_KEY_ID": words[1], "AWS_SECRET_ACCESS_KEY": words[2],
      "AWS_ENDPOINT_URL": "http://127.0.0.1:\(server.port)",
    ]
  }

  /// Returns when the object is stored.
  package func write(_ bytes: [UInt8], key: String) async throws {
    let name = key.replacing("/", with: "%2F")
    try folder.write(bytes, to: name)
    try await server.process.wait(forOutput: "put \(name) \(bytes.count)\n")
  }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// An origin that takes its time, and has a short queue of connections (see delayed_origin.py).
///
///     let origin = try await DelayedOrigin(seconds: 0.02)
///     defer { origin.stop() }
package final class DelayedOrigin: Sendable {
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Parameters:
  ///   - port: 0 for any.
  ///   - seconds: how long each answer takes, one at a time unless it has threads.
  /// - Throws: when /usr/bin/python3 is missing, or the port is taken.
  package init(port: Int = 0, seconds: Double, hasThreads: Bool = false) async throws(SupportFailure) {
    server = try await PythonServer(
      "delayed_origin.py", ["\(port)", "\(seconds)", hasThreads ? "threads" : "one"])
  }

  deinit { stop() }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)\(path)" }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}

/// A SOCKS5 proxy that refuses as it is told (see socks_server.py).
///
///     let proxy = try await SocksServer(login: "me:right", steps: ["5", "go"])
///     defer { proxy.stop() }
package final class SocksServer: Sendable {
  private let server: PythonServer

  /// Returns when it accepts connections.
  /// - Parameters:
  ///   - login: `user:password`; nil where it wants none.
  ///   - steps: what becomes of each connection, the last for ever after: a reply's code (RFC 1928 §6), `go`,
  ///     `close`, `silent`, `http`.
  /// - Throws: when /usr/bin/python3 is missing.
  package init(login: String? = nil, steps: [String] = ["go"]) async throws(SupportFailure) {
    server = try await PythonServer("socks_server.py", [login ?? "-"] + steps)
  }

  deinit { stop() }

  package var port: Int { server.port }

  /// Its address, for `--proxy`.
  package func url(_ scheme: String = "socks5h", login: String? = nil) -> String {
    "\(scheme)://\(login.map { "\($0)@" } ?? "")127.0.0.1:\(port)"
  }

  /// Suspends until it has said the text: it speaks after it has answered.
  public func wait(for text: String) async throws(SupportFailure) { try await server.process.wait(forOutput: text) }

  /// What was asked of it, a line for each connection whose fate was decided.
  package var asked: [String] { server.process.outputText.split(separator: "\n").dropFirst().map(String.init) }

  /// May be called again; `deinit` does.
  package func stop() { server.stop() }
}
