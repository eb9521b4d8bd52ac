import Foundation
import Glibc

/// A real server program of Debian's on ports of 127.0.0.1, with a configuration and a folder of the test's
/// own.
///
/// Made anew by the test and killed with it; nothing that the system itself runs is touched.
package final class LoopbackServer: Sendable {
  package let ports: [UInt16]
  package let folder: TemporaryFolder
  private let process: CommandRun

  /// Another program may take a port between its choice and the server's bind.
  private static let portAttempts = 5

  /// What a server is started with.
  package struct Launch: Sendable {
    /// Files of its folder, by name, with their texts.
    package var files: [String: String]
    package var arguments: [String]

    package init(files: [String: String] = [:], arguments: [String]) {
      self.files = files
      self.arguments = arguments
    }
  }

  /// Returns when all ports accept connections.
  /// - Parameters:
  ///   - program: an absolute path, as Debian has it, which not every user's PATH leads to; else the PATH has it.
  ///   - package: which Debian package brings it, for the message when it is missing.
  ///   - portCount: how many ports it needs; all of them different.
  ///   - launch: its configuration, made of the folder's path and the ports.
  /// - Throws: when the program is missing or does not start.
  package init(
    _ program: String, package: String, portCount: Int = 1,
    folder: TemporaryFolder? = nil, launch: (_ folder: String, _ ports: [UInt16]) throws -> Launch
  ) async throws {
    let program = try Self.installed(program, package: package)
    let folder = try folder ?? TemporaryFolder()
    // Servers that are started as root serve as somebody else.
    chmod(folder.path, 0o755)
    self.folder = folder
    var failure = SupportFailure("\(program) did not start")
    for _ in 0..<Self.portAttempts {
      let ports = try LoopbackSocket.freePorts(portCount)
      let launch = try launch(folder.path, ports)
      for (name, text) in launch.files { try folder.write(Array(text.utf8), to: name) }
      do throws(SupportFailure) {
        process = try await Self.start(program, launch.arguments, ports)
        self.ports = ports
        return
      } catch {
        failure = error
      }
    }
    throw failure
  }

  deinit { stop() }

  package func url(_ path: String, port index: Int = 0) -> String { "http://127.0.0.1:\(ports[index])\(path)" }

  package var port: UInt16 { ports[0] }

  /// Writes a file of the folder `root`, as if it had been there for long: of one that is younger than a
  /// second or two Apache says that its tag is weak, and later that it is not.
  package func serve(_ bytes: [UInt8], as name: String) throws {
    let path = try folder.write(bytes, to: "root/\(name)")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: path)
  }

  /// What it said on standard output so far.
  package var outputText: String { process.outputText }

  /// What it said on standard error so far.
  package var errorText: String { process.errorText }

  /// - Returns: false when it has ended already.
  @discardableResult
  package func send(_ signal: Int32) -> Bool { process.send(signal) }

  /// Ends it and waits for that. May be called again; `deinit` does.
  package func stop() {
    guard process.send(SIGTERM) else { return }
    if !process.blockUntilExit(before: Date(timeIntervalSinceNow: 5)) {
      process.send(SIGKILL)
      _ = process.blockUntilExit()
    }
  }

  /// - Returns: the program's path: as given, else by its name in the PATH.
  static func installed(
    _ program: String, package: String,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(SupportFailure) -> String {
    let name = URL(filePath: program).lastPathComponent
    let folders = (environment["PATH"] ?? "").split(separator: ":")
    let candidates = [program] + folders.map { "\($0)/\(name)" }
    guard let found = candidates.first(where: FileManager.default.isExecutableFile) else {
      throw SupportFailure(
        "\(program) is missing; Config/test installs it (Debian: apt-get install \(package))")
    }
    return found
  }

  private static func start(
    _ program: String, _ arguments: [String], _ ports: [UInt16]
  ) async throws(SupportFailure) -> CommandRun {
    // A session of its own: Apache signals its whole process group, which else is that of the tests.
    let process = try CommandRun("/usr/bin/setsid", [program] + arguments)
    for port in ports { try await waitUntilAccepting(port, process) }
    return process
  }

  private static func waitUntilAccepting(_ port: UInt16, _ process: CommandRun) async throws(SupportFailure) {
    for _ in 0..<6000 {
      if let socket = try LoopbackSocket.connected(to: port) { return socket.close() }
      if process.hasEnded {
        throw SupportFailure("the server ended at once: \(try await process.waitForExit().errorText)")
      }
      do {
        try await Task.sleep(for: .milliseconds(10))
      } catch {
        throw SupportFailure("cancelled while a server was starting")
      }
    }
    throw SupportFailure("no server accepts connections on port \(port): \(process.errorText)")
  }
}
