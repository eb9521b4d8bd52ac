import Foundation
import Glibc
import TestSupport
import Testing

@Suite("JSON lines beside a display, and the summary as a file", .serialized)
struct EventRecordTests {
  private static func objects(_ text: String) throws -> [[String: Any]] {
    try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  private static func origin() throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    origin.route("/a", .file([1, 2, 3]))
    origin.route("/b", .status(404))
    return origin
  }

  /// Two lines of one URL with names of their own: each event has the number of its own line.
  @Test func twoLinesOfOneURL() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/f", .status(500, headers: ["Retry-After: 0"]), .file([1, 2]))
    let place = try Workplace()
    _ = try place.list(["one", "two", "three"].map { "\(origin.url("/f"))\tout=\($0)" })
    let run = try await place.dlm("get", "urls.txt", "--progress", "json", "-m", "sequential")
    #expect(run.status == 0, "\(run.errorText)")
    let lines = try Self.objects(run.outputText)
    let paths = lines.compactMap { line in (line["path"] as? String).map { "\(line["id"] ?? "") \($0)" } }
    #expect(paths.sorted() == ["0 one", "1 two", "2 three"])
    #expect(lines.filter { $0["type"] as? String == "retry" }.map { $0["id"] as? Int } == [0])
  }

  @Test func intoAFile() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.folder.write(Array("before\n".utf8), to: "work/events")
    let run = try await place.dlm(
      "get", origin.url("/a"), origin.url("/b"), "--events", "events", "--summary-json", "summary")
    #expect(run.status == 1)
    #expect(run.outputText.isEmpty && run.errorText.contains("done: "), "\(run.errorText)")
    let lines = try Self.objects(String(decoding: place.file("events"), as: UTF8.self))
    let types = lines.compactMap { $0["type"] as? String }
    #expect(types.last == "summary" && Set(types).isSuperset(of: ["plan", "start", "done", "error"]))
    for line in lines {
      if let received = line["received"] as? Int, let size = line["size"] as? Int {
        #expect(received <= size, "\(line)")
      }
    }
    let summary = try #require(try Self.objects(String(decoding: place.file("summary"), as: UTF8.self)).first)
    #expect(summary["done"] as? Int == 1 && summary["failed"] as? Int == 1)
    #expect(summary["status"] as? Int == 1 && summary["mode"] as? String == "parallel")
    let line = try #require(lines.last)
    for key in line.keys where key != "t" && key != "seconds" {
      #expect("\(line[key] ?? "")" == "\(summary[key] ?? "")", "\(key)")
    }
    #expect(try place.names() == ["a", "events", "summary"])
  }

  /// Beside JSON on standard output too, and without any display.
  @Test(arguments: ["json", "none", "plain"])
  func toADescriptor(style: String) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let run = try await place.start(
      "sh",
      [
        "-c", "exec \"$0\" get \(origin.url("/a")) --events fd:3 --progress \(style) 3>events",
        try DLMExecutable.path(),
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let lines = try Self.objects(String(decoding: place.file("events"), as: UTF8.self))
    #expect(lines.last?["type"] as? String == "summary" && lines.last?["done"] as? Int == 1)
    #expect(run.outputText.isEmpty == (style != "json"))
  }

  /// It was once made for all to read, and another name of the same file emptied.
  @Test func aFileOfItsOwn() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.folder.write(Array("before".utf8), to: "work/events")
    #expect(link("\(place.work)/events", "\(place.work)/other") == 0)
    #expect(try await place.dlm("get", origin.url("/a"), "--events", "events").status == 0)
    let rights = try FileManager.default.attributesOfItem(atPath: "\(place.work)/events")[.posixPermissions]
    #expect(rights as? Int == 0o600)
    #expect(try place.file("other") == Array("before".utf8))
    #expect(try Self.objects(String(decoding: place.file("events"), as: UTF8.self)).count > 2)
    #expect(try place.names() == ["a", "events", "other"])
  }

  @Test(arguments: ["-", "/dev/stdout", "fd:1"])
  func onStandardOutput(name: String) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/a"), "--events", name, "--summary-json", name)
    #expect(run.status == 0, "\(run.errorText)")
    let lines = try Self.objects(run.outputText)
    #expect(lines.first?["type"] as? String != "summary" && lines.count > 3)
    #expect(
      lines.suffix(2).allSatisfy { $0["type"] as? String == "summary" } && lines.last?["status"] as? Int == 0)
    #expect(try place.names() == ["a"])
  }

  @Test func placesThatCannotBeWritten() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    try FileManager.default.createSymbolicLink(
      atPath: "\(place.work)/link", withDestinationPath: "target")
    for (arguments, status, words) in [
      (["--events", "fd:77"], 64, "fd:77"), (["--events", "fd:x"], 64, "fd:N"),
      (["--events", "no/events"], 73, "no/events cannot be written"),
      (["--events", "link"], 64, "--events link is a link"),
      (["--summary-json", "link"], 64, "--summary-json link is a link"),
      (["--events", "/dev/full"], 74, "/dev/full cannot be written"),
      (["--summary-json", "no/summary"], 73, "no/summary cannot be written"),
    ] as [([String], Int32, String)] {
      let run = try await place.start(["get", "--refresh", origin.url("/a")] + arguments).waitForExit()
      #expect(run.status == status, "\(arguments): \(run.errorText)")
      #expect(run.errorText.contains(words), "\(arguments): \(run.errorText)")
    }
    #expect(try place.names() == ["a", "link"])
  }
}
