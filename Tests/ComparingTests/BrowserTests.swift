import Foundation
import Testing
import TestSupport

@testable import Comparing

/// Pages in headless Chromium, driven by browser.py: what a reader of each kind meets.
@Suite("A page in a browser")
struct BrowserTests {
  struct Page: Sendable, Encodable {
    var name: String
    var waterfalls = 3
    var files = 40
    var first = "https://data.example.org/pictures/2026/leaf-1000.jpg"
    var page = ""
  }

  private static let pages = [
    Page(name: "three-modes"), Page(name: "one-run", waterfalls: 1), Page(name: "widths", waterfalls: 6),
    Page(name: "one-file", files: 1), Page(name: "no-details", waterfalls: 0),
    Page(
      name: "hostile", files: 12,
      first: "https://evil.example/\"><script>alert(1)</script>'& gpj.exe\"\u{301} onload=x/0"),
    Page(
      name: "thousand", files: 1000,
      first: "https://data.example.org/collections/herbarium/2026/plates/0/leaf-100000-large.jpeg"),
  ]

  @Test("is legible, within its window, printable, and works by hand, by keyboard and without script")
  func isPleasant() async throws {
    let folder = try TemporaryFolder()
    let samples = SamplePages.all
    let pages = try Self.pages.map { page in
      var page = page
      let html = try #require(samples.first { $0.name == page.name }?.pages.html)
      page.page = try folder.write(Array(html.utf8), to: "\(page.name).html")
      return page
    }
    let expectations = String(decoding: try JSONEncoder().encode(pages), as: UTF8.self)
    let looks = try await Self.look(expectations, in: folder)
    for page in pages {
      #expect(looks.contains { $0.hasPrefix("looked at ") && $0.hasSuffix(" in \(page.name)") }, "\(page.name)")
    }
    for complaint in looks where !complaint.hasPrefix("looked at ") { Issue.record("\(complaint)") }
  }

  /// - Returns: a line a complaint, and how much was looked at on each page.
  private static func look(_ expectations: String, in folder: TemporaryFolder) async throws -> [String] {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Browser/browser.py")
      .path
    // A home of its own: a browser leaves much there. Selenium is not to look for a driver elsewhere.
    let variables = [
      "PATH": "/usr/bin:/bin", "HOME": folder.path("home"), "TMPDIR": folder.path("."), "LC_ALL": "C.UTF-8",
      "PYTHONPATH": try modules(), "SE_OFFLINE": "true", "SE_AVOID_STATS": "true",
    ]
    try FileManager.default.createDirectory(atPath: folder.path("home"), withIntermediateDirectories: true)
    let run = try CommandRun("/usr/bin/python3", [script, expectations], environment: variables)
    let result = try await run.waitForExit(within: .seconds(600))
    guard result.status == 0 else {
      throw SupportFailure("browser.py ended with \(result.ending): \(result.outputText)\(result.errorText)")
    }
    return result.outputText.split(separator: "\n").map(String.init)
  }

  /// Where Config/test puts modules of PyPI.
  private static func modules() throws(SupportFailure) -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
    let modules = root.appending(path: ".build/python").path
    guard FileManager.default.fileExists(atPath: "\(modules)/selenium") else {
      throw SupportFailure("selenium is missing in \(modules); Config/test installs it")
    }
    return modules
  }
}
