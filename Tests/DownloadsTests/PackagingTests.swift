import Foundation
import TestSupport
import Testing

@Suite("Config/install and Config/package refuse what they cannot do, before they build")
struct PackagingTests {
  static let refusals: [(script: String, arguments: [String], status: Int32, says: String)] = [
    ("install", ["PREFIX="], 64, "\"PREFIX=\" is not a folder"),
    ("install", ["--help"], 64, "usage: Config/install [PREFIX]"),
    ("package", ["--trie"], 64, "usage: Config/package [--try|--container]"),
    ("package", ["--container"], 69, "no container engine runs here"),
  ]

  @Test(arguments: refusals)
  func scriptsRefuse(script: String, arguments: [String], status: Int32, says: String) async throws {
    // With the one tool that the scripts need up to there, and no engine.
    let tools = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: tools.path("dirname"), withDestinationPath: "/usr/bin/dirname")
    let run = try CommandRun(
      "\(LibraryUser.root)/Config/\(script)", arguments, environment: ["PATH": tools.path])
    let result = try await run.waitForExit()
    #expect(result.status == status && result.errorText.contains(says), "\(result.errorText)")
  }
}
