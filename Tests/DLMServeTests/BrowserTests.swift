import Foundation
import TestSupport
import Testing

/// The page in headless Chromium, driven by page.py: as its users do, and as a hostile page in the same browser would.
@Suite("The page of dlm serve in a browser")
struct BrowserTests {
  private struct Configuration: Encodable {
    var link: String
    var slow: [String]
    var quick: [String]
    var hostile: String
    var tools: String
    /// Where screenshots go, for people who look at them.
    var shots = ProcessInfo.processInfo.environment["DLM_SHOTS"] ?? ""
  }

  @Test(.timeLimit(.minutes(hangMinutes))) func isUsedAndAttacked() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    for (number, text) in Self.pictures.enumerated() {
      let picture = Array(try #require(Data(base64Encoded: text)))
      let isLast = number == Self.pictures.count - 1
      let options = isLast ? FileOptions(ending: .stall(after: 40, until: gate)) : FileOptions()
      origin.route("/picture-\(number).png", .file(picture, options))
    }
    let quick = (0..<12).map { "/quick-\($0)" }
    for path in quick { origin.route(path, .file(Array(path.utf8))) }
    let page = Array("<!doctype html><title>hostile</title><body>".utf8)
    origin.route("/hostile", .file(page, FileOptions(headers: ["Content-Type: text/html"])))
    let served = try await ServedPage()
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let configuration = Configuration(
      link: served.link, slow: (0..<4).map { origin.url("/picture-\($0).png") }, quick: quick.map { origin.url($0) },
      hostile: origin.url("/hostile"), tools: tests.appending(path: "../ComparingTests/Browser").standardized.path)
    let json = String(decoding: try JSONEncoder().encode(configuration), as: UTF8.self)
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path("home"), withIntermediateDirectories: true)
    let modules = tests.appending(path: "../../.build/python").standardized.path
    let run = try CommandRun(
      "/usr/bin/python3", [tests.appending(path: "Browser/page.py").path, json],
      environment: [
        "PATH": "/usr/bin:/bin", "HOME": folder.path("home"), "TMPDIR": folder.path("."), "LC_ALL": "C.UTF-8",
        "PYTHONPATH": modules, "SE_OFFLINE": "true", "SE_AVOID_STATS": "true",
      ])
    let signal = Task {
      try await run.wait(forOutput: "named\n")
      gate.open()
    }
    let result = try await run.waitForExit(within: .seconds(600))
    signal.cancel()
    gate.open()
    let lines = result.outputText.split(separator: "\n").map(String.init)
    for line in lines where !["named", "looked"].contains(line) { Issue.record("\(line)") }
    #expect(result.status == 0 && lines.last == "looked", "\(result.errorText)")
    // Named while the last one was still coming; that one kept its name.
    #expect(
      try served.place.names(in: "files/pictures") == ["named-0.png", "named-1.png", "named-2.png", "picture-3.png"])
    #expect(try served.place.names(in: "files/dropped") == ["dropped-0", "dropped-1"])
    // Nothing that the hostile page tried has begun a download or given a name.
    #expect(try await served.states() == ["done", "done"])
    try await served.end()
  }

  /// PNGs of 12 × 9 pixels, each of another colour.
  private static let pictures = [
    "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAE0lEQVR4nGPQiDpBEDGMKiJKEQBO/4s5lE9imAAAAABJRU5ErkJggg==",
    "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAE0lEQVR4nGM4UaFBEDGMKiJKEQARypfhQcRJFQAAAABJRU5ErkJggg==",
    "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAE0lEQVR4nGOwWRBFEDGMKiJKEQAItILJpc7EPgAAAABJRU5ErkJggg==",
    "iVBORw0KGgoAAAANSUhEUgAAAAwAAAAJCAIAAACJ2loDAAAAE0lEQVR4nGPYYlNBEDGMKiJKEQDni5fho4XUSAAAAABJRU5ErkJggg==",
  ]
}
