import Foundation
import TestSupport
import Testing

/// A program that uses the library as another package does: its target has no access to what is `package`.
enum LibraryUser {
  /// Of this package.
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path
  static var sources: String { "\(root)/Tests/LibraryUser" }

  static func start(_ arguments: [String]) throws -> CommandRun {
    // Lines are to come when they are said, not when a pipe's buffer is full.
    try CommandRun("stdbuf", ["-oL", try DLMExecutable.path(of: "LibraryUser")] + arguments)
  }
}

@Suite("Another program uses the library", .timeLimit(.minutes(hangMinutes)))
struct LibraryUserTests {
  @Test func aListWithProgress() async throws {
    let place = try Place()
    let (gate, body) = (try Gate(), SplitMix64.bytes(count: 300_000, seed: 5))
    place.origin.route("/large", .file(body, FileOptions(ending: .stall(after: 100_000, until: gate))))
    let addresses = place.serve(20) + [place.origin.url("/large"), place.origin.url("/nothing")]
    let run = try LibraryUser.start(["list", place.files] + addresses)
    try await run.wait(forOutput: "/large: 100000 of 300000 bytes\n")
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    let said = result.outputText
    for address in addresses.dropLast() { #expect(said.contains("\(address) is \(place.files)/"), "\(said)") }
    #expect(said.contains("/nothing failed: status"), "\(said)")
    #expect(try place.folder.read("files/large") == body)
    for number in 0..<20 { #expect(try place.folder.read("files/f\(number)") == Place.body(number)) }
    #expect(try place.folder.names(in: "files").count == 21)
  }

  @Test func oneFileTwice() async throws {
    let place = try Place()
    let address = place.serve(1)[0]
    let result = try await LibraryUser.start(["one", place.files, address, address]).waitForExit()
    #expect(
      result.outputText == """
        \(place.files)/f0: 1000 bytes, fetched
        \(place.files)/f0: 1000 bytes, unchanged

        """, "\(result.errorText)")
    let failed = try await LibraryUser.start(["one", place.files, place.origin.url("/nothing")]).waitForExit()
    #expect(failed.outputText.hasSuffix("/nothing failed: status, status 404\n"), "\(failed.outputText)")
  }

  @Test func aPausedFile() async throws {
    let place = try Place()
    let (gate, body) = (try Gate(), SplitMix64.bytes(count: 300_000, seed: 5))
    let stalls = FileOptions(ending: .stall(after: 100_000, until: gate))
    place.origin.route("/large", .file(body, stalls), .file(body, FileOptions()))
    let result = try await LibraryUser.start(["pause", place.files, place.origin.url("/large")]).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(result.outputText.contains(" of 300000 bytes\n"), "\(result.outputText)")
    #expect(result.outputText.hasSuffix("300000 of 300000 bytes\n\(place.files)/large is complete\n"))
    #expect(try place.folder.read("files/large") == body)
    #expect(place.origin.record.requests(to: "/large").count == 2)
  }

  @Test func itemsWithAMirror() async throws {
    let (place, mirror) = (try Place(), try FaultyOrigin())
    defer { mirror.stop() }
    let addresses = place.serve(3) + [place.origin.url("/f9")]
    mirror.route("/f9", .file(Place.body(9), FileOptions()))
    let result = try await LibraryUser.start(["items", place.files, mirror.url("")] + addresses).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(result.outputText.hasPrefix("\(addresses[3]) is \(place.files)/f9\n"), "\(result.outputText)")
    #expect(try place.folder.names(in: "files").count == 4)
    #expect(place.origin.record.requests(to: "/f2").first?.headers["x-position"] == "2")
  }

  @Test func strategiesCompared() async throws {
    let place = try Place()
    let result = try await LibraryUser.start(["compare", place.files] + place.serve(12)).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    for name in ["sequential", "async-let", "task-group", "slow-start"] {
      #expect(result.outputText.contains("\(name) took "), "\(result.outputText)")
      for number in 0..<12 {
        #expect(try place.folder.read("files/\(name)/f\(number)") == Place.body(number))
      }
    }
    #expect(place.origin.record.greatestInFlight <= 8)
  }
}

@Suite("What the documentation quotes is compiled and run")
struct DocumentationTests {
  private static let catalogue = "\(LibraryUser.root)/Sources/Downloads/Downloads.docc"

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: URL(filePath: path), encoding: .utf8)
  }

  /// Each piece of Swift in an article is a whole file of the package, and each of its files is in one.
  @Test func theArticlesQuoteTheFiles() throws {
    var quoted: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: Self.catalogue) {
      let text = try Self.text("\(Self.catalogue)/\(name)")
      for piece in text.components(separatedBy: "```swift\n").dropFirst() {
        let end = try #require(piece.range(of: "```\n"))
        quoted.append(String(piece[..<end.lowerBound]))
      }
    }
    var files: [String] = []
    // What reads the command line is no example.
    for name in try FileManager.default.contentsOfDirectory(atPath: LibraryUser.sources)
    where name.hasSuffix(".swift") && name != "main.swift" {
      files.append(try Self.text("\(LibraryUser.sources)/\(name)"))
    }
    #expect(files.count == 6 && quoted.sorted() == files.sorted())
  }

  /// Of the libraries that `Package.swift` names, the program's own one apart.
  @Test func theArticleNamesEachDebianPackage() throws {
    let manifest = try Self.text("\(LibraryUser.root)/Package.swift")
    let article = try Self.text("\(Self.catalogue)/Downloads.md")
    let packages = manifest.matches(of: /"([a-z0-9-]+-dev)"/).map { String($0.output.1) }
    #expect(packages.count == 6)
    for package in packages { #expect(article.contains(package), "\(package)") }
  }

  /// A package with an unsafe flag could not be a dependency of another, unless that one is beside it on
  /// the disk.
  @Test func theManifestAsksForNothingThatADependencyMayNot() async throws {
    var environment = ProcessInfo.processInfo.environment
    environment["DLM_OWN_BINARY"] = nil
    // Who runs the tests holds the lock of the usual one.
    let scratch = try TemporaryFolder()
    let manifest = try await CommandRun(
      "swift",
      ["package", "--package-path", LibraryUser.root, "--scratch-path", scratch.path, "dump-package"],
      environment: environment
    ).waitForExit()
    #expect(manifest.status == 0 && manifest.outputText.contains("\"Downloads\""), "\(manifest.errorText)")
    #expect(!manifest.outputText.contains("unsafeFlags"))
  }
}
