import Foundation
import TestSupport

/// A user's place: a home of its own, so that no test meets another's cache, and a working folder.
struct Workplace {
  let folder: TemporaryFolder
  private let variables: [String: String]

  init(_ more: [String: String] = [:]) throws {
    folder = try TemporaryFolder()
    var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("DLM_") }
    for name in ["http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
      variables[name] = nil
    }
    variables["HOME"] = folder.path("home")
    for (variable, name) in [("CACHE", "cache"), ("STATE", "state"), ("CONFIG", "config")] {
      variables["XDG_\(variable)_HOME"] = folder.path("home/\(name)")
    }
    variables.merge(more) { $1 }
    self.variables = variables
    try FileManager.default.createDirectory(atPath: folder.path("work"), withIntermediateDirectories: true)
  }

  var work: String { folder.path("work") }

  /// Runs `dlm` in the working folder to its end.
  func dlm(_ arguments: String..., input: [UInt8] = []) async throws -> CommandResult {
    try await start(arguments, input: .bytes(input)).waitForExit()
  }

  func start(_ arguments: [String], input: CommandInput = .bytes([])) throws -> CommandRun {
    try start(try DLMExecutable.path(), arguments, input: input)
  }

  /// Runs a command that runs `dlm`.
  func start(_ command: String, _ arguments: [String], input: CommandInput = .bytes([])) throws -> CommandRun
  {
    try CommandRun(command, arguments, environment: variables, input: input, folder: work)
  }

  func list(_ addresses: [String], name: String = "urls.txt") throws -> String {
    try folder.write(Array((addresses.joined(separator: "\n") + "\n").utf8), to: "work/\(name)")
  }

  /// Suspends until a file is at least so long.
  /// - Throws: after a long safety limit. The file system has no event that Foundation could wait for.
  func wait(forSize size: Int, of name: String) async throws {
    for _ in 0..<3000 {
      let attributes = try? FileManager.default.attributesOfItem(atPath: "\(work)/\(name)")
      if let length = attributes?[.size] as? Int, length >= size { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw SupportFailure("\(name) did not grow to \(size) bytes")
  }

  func file(_ name: String) throws -> [UInt8] { try folder.read("work/\(name)") }
  func names(in subfolder: String = "") throws -> [String] { try folder.names(in: "work/\(subfolder)") }
}
