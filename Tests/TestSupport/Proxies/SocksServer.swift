import Foundation
import Glibc

/// A SOCKS5 proxy that refuses as it is told (see socks_server.py).
///
///     let proxy = try await SocksServer(login: "me:right", steps: ["5", "go"])
///     defer { proxy.stop() }
public final class SocksServer: Sendable {
  public let port: Int
  private let process: CommandRun

  /// Returns when it accepts connections.
  /// - Parameters:
  ///   - login: `user:password`; nil where it wants none.
  ///   - steps: what becomes of each connection, the last for ever after: a reply's code (RFC 1928 §6), `go`, `close`,
  ///     `silent`, `http`.
  /// - Throws: when /usr/bin/python3 is missing.
  public init(login: String? = nil, steps: [String] = ["go"]) async throws(SupportFailure) {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("socks_server.py").path
    process = try CommandRun("/usr/bin/python3", [script, login ?? "-"] + steps)
    try await process.wait(forOutput: "\n")
    guard let port = Int(process.outputText.prefix { $0.isNumber }) else {
      throw SupportFailure("no port: \(process.outputText) \(process.errorText)")
    }
    self.port = port
  }

  deinit { stop() }

  /// Its address, for `--proxy`.
  public func url(_ scheme: String = "socks5h", login: String? = nil) -> String {
    "\(scheme)://\(login.map { "\($0)@" } ?? "")127.0.0.1:\(port)"
  }

  /// What was asked of it, a line for each connection whose fate was decided.
  public var asked: [String] { process.outputText.split(separator: "\n").dropFirst().map(String.init) }

  /// May be called again; `deinit` does.
  public func stop() {
    process.send(SIGKILL)
    _ = process.blockUntilExit()
  }
}
