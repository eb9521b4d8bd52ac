import TestSupport
import Testing

@testable import dlm

@Suite("What a whole `dlm get` comes to: its status, its files, and whether it is remembered")
struct DownloadSessionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let what: String
    let list: String
    var arguments: [String] = []
    var standing: [String: String] = [:]
    let status: dlm.ExitStatus
    /// What lies in the folder, but for its list.
    let files: [String]
    /// Whether `dlm get` would take it again.
    let isRemembered: Bool
    var says = ""

    var testDescription: String { what }
  }

  private static let cases: [Case] = [
    Case(what: "all there", list: "/a /b", status: .success, files: ["a", "b"], isRemembered: true, says: "2 files"),
    Case(what: "nothing but failures", list: "/dead", status: .failed, files: [], isRemembered: true, says: "404"),
    Case(what: "a part of it", list: "/a /dead", status: .failed, files: ["a"], isRemembered: true),
    Case(
      what: "what may pass", list: "/busy", arguments: ["--retries", "0"], status: .tryAgain, files: [],
      isRemembered: true),
    Case(what: "an empty list", list: "", status: .success, files: [], isRemembered: false),
    Case(what: "no list", list: "<html>", status: .sourceUnreadable, files: [], isRemembered: false),
    Case(
      what: "the folder is a file", list: "/a", arguments: ["-d", "taken"], standing: ["taken": "x"],
      status: .folderUnusable, files: ["taken"], isRemembered: false),
    Case(
      what: "another file stands there", list: "/a", arguments: ["--on-conflict", "skip"], standing: ["a": "x"],
      status: .success, files: ["a"], isRemembered: true),
    Case(
      what: "the report has no place", list: "/a", arguments: ["--report", "taken/x.html"], standing: ["taken": "x"],
      status: .folderUnusable, files: ["taken"], isRemembered: false, says: "--report"),
    Case(
      what: "the summary has no place", list: "/a", arguments: ["--summary-json", "none/x.json"],
      status: .folderUnusable, files: [], isRemembered: false, says: "--summary-json"),
    Case(
      what: "nor has what fails", list: "/a", arguments: ["--failed", "none/f.txt"], status: .folderUnusable, files: [],
      isRemembered: false, says: "none/f.txt cannot be written"),
    Case(
      what: "a report where the files go", list: "/a", arguments: ["-d", "new", "--report", "new/r.html"],
      status: .success, files: ["new"], isRemembered: true),
    Case(
      what: "all that can be kept", list: "/a /dead",
      arguments: ["--failed", "f.txt", "--summary-json", "s.json", "--report", "r.html", "--events", "e.jsonl"],
      status: .failed, files: ["a", "e.jsonl", "f.txt", "r.html", "s.json"], isRemembered: true),
  ]

  @Test(arguments: cases) func table(one: Case) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file(Array(name.utf8))) }
    origin.route("/dead", .status(404))
    origin.route("/busy", .status(503))
    let place = try Workplace()
    _ = try place.list(one.list.split(separator: " ").map { $0.hasPrefix("/") ? origin.url(String($0)) : String($0) })
    for (name, text) in one.standing { try place.folder.write(text, to: "work/\(name)") }
    let result = try await place.start(["get", "urls.txt", "--mode", "parallel"] + one.arguments).waitForExit()
    #expect(result.status == one.status.rawValue, "\(result.errorText)")
    #expect(result.errorText.contains(one.says), "\(result.errorText)")
    #expect(try place.names().filter { $0 != "urls.txt" }.sorted() == one.files)
    let again = try await place.dlm("get", "--dry-run")
    #expect((again.status != dlm.ExitStatus.usage.rawValue) == one.isRemembered, "\(again.errorText)")
  }
}
