import Foundation
import Glibc
import TestSupport
import Testing

@Suite("--dry-run: what a run would do, and how large it is")
struct DryRunTests {
  /// What an earlier run left in `out`: an unchanged file, a changed one, a part, and another's.
  private static func place(_ origin: FaultyOrigin) async throws -> Workplace {
    let place = try Workplace()
    for name in ["here", "changed"] { origin.route("/\(name)", .file([1, 2, 3], FileOptions(etag: "\"1\""))) }
    let body = SplitMix64.bytes(count: 5000, seed: 1)
    origin.route("/part", .file(body, FileOptions(etag: "\"1\"", ending: .stall(after: 2000))))
    let run = try place.start(["get", "-d", "out"] + ["/here", "/changed", "/part"].map { origin.url($0) })
    try await place.wait(forSize: 3, of: "out/here")
    try await place.wait(forSize: 3, of: "out/changed")
    try await origin.wait(path: "/part", bodyBytesSent: 2000)
    run.send(SIGINT)
    #expect(try await run.waitForExit().status == 130)
    _ = try place.folder.write(Array("mine".utf8), to: "work/out/changed")
    _ = try place.folder.write(Array("mine".utf8), to: "work/out/a.tar.gz")
    let lines = ["/here", "/changed", "/part", "/a.tar.gz\tsize=1K", "/b/a.tar.gz", "/a.tar.gz", "/new\tsize=4"]
    _ = try place.list(lines.map { origin.url($0) })
    return place
  }

  private static let names = ["here", "changed.1", "part", "a.1.tar.gz", "a.2.tar.gz", "a.1.tar.gz", "new"]

  /// The real run gives the names that were said.
  @Test func namesSizesAndSteps() async throws {
    let origin = try FaultyOrigin()
    let place = try await Self.place(origin)
    let before = origin.log.count
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "--dry-run", "--offline")
    #expect(run.status == 0 && origin.log.count == before, "\(run.errorText)")
    let rows = run.outputText.split(separator: "\n").map { $0.split(separator: "\t").dropFirst().map(String.init) }
    let sizes = ["3", "3", "5000", "1024", "-", "-", "4"]
    let steps = ["here", "fetch", "resume", "fetch", "fetch", "fetch", "fetch"]
    for (index, name) in Self.names.enumerated() {
      #expect(rows[index] == ["out/\(name)", sizes[index], steps[index]], "\(run.outputText)")
    }
    let line = run.errorText.split(separator: "\n").first ?? ""
    #expect(line.hasPrefix("7 files, 5 to fetch, 1 to resume, 1 complete: "), "\(run.errorText)")
    #expect(line.contains(" and 1 file of unknown size to download; ") && line.contains(" free in out"), "\(line)")
    for name in ["/b/a.tar.gz", "/a.tar.gz", "/new"] { origin.route(name, .file(Array(name.utf8))) }
    origin.route("/part", .file(SplitMix64.bytes(count: 5000, seed: 1), FileOptions(etag: "\"1\"")))
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    origin.stop()
    #expect(try place.names(in: "out") == Set(Self.names + ["a.tar.gz", "changed"]).sorted())
  }

  @Test func asJSON() async throws {
    let origin = try FaultyOrigin()
    let place = try await Self.place(origin)
    origin.stop()
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "--dry-run", "--offline", "--json", "-q")
    let objects = try run.outputText.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(run.status == 0 && run.errorText.isEmpty && objects.count == 8, "\(run.errorText)")
    #expect(objects[0]["type"] as? String == "file" && objects[0]["step"] as? String == "here")
    #expect(objects[0]["url"] as? String == origin.url("/here") && objects[0]["here"] as? Int == 3)
    let kept = try #require(objects[2]["here"] as? Int)
    #expect(objects[2]["size"] as? Int == 5000 && kept > 0 && kept <= 2000)
    #expect(objects[4]["size"] is NSNull && objects[4]["path"] as? String == "out/a.2.tar.gz")
    #expect(objects[7]["type"] as? String == "dry-run" && objects[7]["unsized"] as? Int == 1)
    #expect(objects[7]["bytes"] as? Int == 3 + 5000 - kept + 1024 + 4)
    #expect((objects[7]["files"] as? [String: Int]) == ["fetch": 5, "resume": 1, "here": 1, "skip": 0, "fail": 0])
  }

  @Test(
    arguments: [
      (["--on-conflict", "skip"], "out/a.tar.gz\t1024\tskip"),
      (["--on-conflict", "overwrite"], "out/a.tar.gz\t1024\tfetch"),
      (["--refresh"], "out/here\t3\tfetch"), (["--no-cache"], "out/here.1\t-\tfetch"),
    ])
  func policies(options: [String], row: String) async throws {
    let origin = try FaultyOrigin()
    let place = try await Self.place(origin)
    origin.stop()
    // These do not go with --offline. The origin's port may be another's by now, and that of the proxy refuses.
    let refused = try RefusedPort()
    let asks = ["--refresh", "--no-cache"].contains(options[0])
    let more = asks ? ["--proxy", refused.url("")] : ["--offline"]
    let arguments = ["get", "urls.txt", "-d", "out", "--dry-run"] + more + options
    let run = try await place.start(arguments).waitForExit()
    #expect(run.status == (asks ? 75 : 0) && run.outputText.contains("\t\(row)\n"), "\(run.outputText)")
  }

  /// Each line once asked the index, with two locks and a change of threads, and the disk for its name in a folder that
  /// is not there.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/strace"), "needs strace"))
  func whatIsAskedDoesNotGrowWithTheList() async throws {
    let place = try Workplace()
    var calls: [Int] = []
    for count in [100, 3000] {
      _ = try place.list((0..<count).map { "http://h/\($0)" })
      let run = try await place.start(
        "strace",
        [
          "-f", "-o", place.folder.path("trace"), "-e", "trace=fcntl,newfstatat,lstat,stat,write,readlink",
          try DLMExecutable.path(), "get", "urls.txt", "-d", "new", "--dry-run", "--offline",
        ]
      ).waitForExit()
      #expect(run.status == 0 && run.outputText.hasSuffix("new/\(count - 1)\t-\tfetch\n"), "\(run.errorText)")
      calls.append(try place.folder.read("trace").count { $0 == 0x0A })
    }
    #expect(calls[1] < calls[0] + 600, "\(calls)")
  }

  /// In a folder that is not there yet, and more than any disk has.
  @Test func tooLittleRoom() async throws {
    let place = try Workplace()
    _ = try place.list(["http://h/a\tsize=900000G"])
    let run = try await place.dlm("get", "urls.txt", "-d", "new/folder", "--dry-run", "--offline")
    #expect(run.status == 74 && run.outputText.hasSuffix("new/folder/a\t966367641600000\tfetch\n"), "\(run.outputText)")
    #expect(run.errorText.contains("dlm: ") && run.errorText.contains(" too little: free space"), "\(run.errorText)")
    #expect(try place.names() == ["urls.txt"])
  }

  // MARK: Sizes

  private static func signed(_ file: OriginAnswer, _ status: Int) -> OriginAnswer {
    .either({ $1["range"] == "bytes=0-0" }, file, else: .status(status, body: Array("no".utf8)))
  }

  /// Every size was `-`, and the total `0 B and 3 files of unknown size`.
  @Test func sizesAreAskedFor() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let body = SplitMix64.bytes(count: 2_000_000, seed: 1)
    origin.route("/plain", .file(body))
    // Signed for GET alone, as many stores do it.
    origin.route("/signed", Self.signed(.file(body), 403))
    origin.route("/empty", Self.signed(.file([]), 405))
    origin.route("/moved", .redirect(302, to: "/plain"))
    origin.route("/grows", .file(body, FileOptions(framing: .chunked(size: 1000))))
    origin.route("/busy", .status(503, headers: ["Retry-After: 1"]), .file(Array(body.prefix(300))))
    let names = ["/plain", "/signed", "/empty", "/moved", "/grows", "/busy"]
    _ = try place.list((names + ["/plain"]).map { origin.url($0) } + ["\(origin.url("/listed"))\tsize=7"])
    let run = try await place.dlm("get", "urls.txt", "-j", "1", "--dry-run")
    let rows = run.outputText.split(separator: "\n").map {
      $0.split(separator: "\t").dropFirst(2).joined(separator: " ")
    }
    let sizes = ["2000000", "2000000", "0", "2000000", "-", "300", "-", "7"]
    #expect(run.status == 0 && rows == sizes.map { "\($0) fetch" }, "\(run.outputText) \(run.errorText)")
    #expect(
      run.errorText.contains("8 files, 8 to fetch: 5.7 MiB and 1 file of unknown size to download;"), "\(run.errorText)"
    )
    #expect(try place.names() == ["urls.txt"])
    // No body is downloaded, and connections are used again, but for that of a refusal.
    #expect(origin.record.bodyBytesSent.values.reduce(0, +) < 100, "\(origin.record.bodyBytesSent)")
    #expect(Set(origin.log.map(\.connection)).count <= 2 && !origin.log.contains { $0.path == "/listed" })
    #expect(origin.log.map(\.method).count { $0 == "HEAD" } == 7 && origin.log.count { $0.path == "/busy" } == 2)
    // The rate of another list of this folder.
    #expect(try await place.dlm("get", origin.url("/plain"), "-d", "other").status == 0)
    let again = try await place.dlm("get", "urls.txt", "--dry-run", "--json")
    #expect(again.errorText.contains(" at the last rate; "), "\(again.errorText)")
    #expect(again.outputText.contains(/"seconds":\d/), "\(again.outputText)")
  }

  @Test func whatIsNotThereIsSaid() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/gone", .status(404))
    origin.route("/huge", .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 900000000000000\r\n\r\n".utf8)))
    _ = try place.list([origin.url("/gone"), "http://127.0.0.1:1/x"])
    let run = try await place.dlm("get", "urls.txt", "--dry-run")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.outputText.contains("/gone\t./gone\t-\tfail\n") && run.outputText.hasSuffix("\t-\tfetch\n"))
    #expect(run.errorText.contains("404 Not Found") && run.errorText.contains("127.0.0.1:1/x"), "\(run.errorText)")
    let full = try await place.dlm("get", origin.url("/huge"), "--dry-run")
    #expect(full.status == 74 && full.outputText.hasSuffix("\t900000000000000\tfetch\n"), "\(full.outputText)")
  }

  /// No more at a time than a download would.
  @Test func theLimitsOfHostsHold() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let gate = try Gate()
    for index in 0..<12 { origin.route("/f\(index)", .late([1], until: gate)) }
    _ = try place.list((0..<12).map { origin.url("/f\($0)") })
    let run = try place.start(["get", "urls.txt", "--dry-run", "--per-host", "3"])
    try await origin.wait(forRequests: 3)
    try await Task.sleep(for: .milliseconds(300))
    #expect(origin.log.count == 3)
    gate.open()
    #expect(try await run.waitForExit().status == 0)
    #expect(origin.log.count >= 12 && origin.record.greatestInFlight == 3)
  }
}
