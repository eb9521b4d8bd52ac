import Foundation
import Glibc
import TestSupport
import Testing

@Suite("--dry-run: what a run would do, without the network")
struct DryRunTests {
  /// What an earlier run left in `out`: a file that is here, one that was changed, a part, and another's.
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
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "--dry-run")
    #expect(run.status == 0 && origin.log.count == before, "\(run.errorText)")
    let rows = run.outputText.split(separator: "\n").map { $0.split(separator: "\t").dropFirst().map(String.init) }
    let sizes = ["3", "3", "5000", "1024", "-", "-", "4"]
    let steps = ["here", "fetch", "resume", "fetch", "fetch", "fetch", "fetch"]
    for (index, name) in Self.names.enumerated() {
      #expect(rows[index] == ["out/\(name)", sizes[index], steps[index]], "\(run.outputText)")
    }
    let line = run.errorText.split(separator: "\n").first ?? ""
    #expect(line.hasPrefix("7 files, 5 to fetch, 1 to resume, 1 here: "), "\(run.errorText)")
    #expect(line.contains(" and 1 file of unknown size to come; ") && line.contains(" free in out"), "\(line)")
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
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "--dry-run", "--progress", "json", "-q")
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
    let run = try await place.start(["get", "urls.txt", "-d", "out", "--dry-run"] + options).waitForExit()
    #expect(run.status == 0 && run.outputText.contains("\t\(row)\n"), "\(run.outputText)")
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
          try DLMExecutable.path(), "get", "urls.txt", "-d", "new", "--dry-run",
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
    let run = try await place.dlm("get", "urls.txt", "-d", "new/folder", "--dry-run")
    #expect(run.status == 0 && run.outputText.hasSuffix("new/folder/a\t966367641600000\tfetch\n"), "\(run.outputText)")
    #expect(run.errorText.contains("dlm: ") && run.errorText.contains(" too little: free space"), "\(run.errorText)")
    #expect(try place.names() == ["urls.txt"])
  }
}
