import DownloadModel
import FileReceiving
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import RunDoors

@Suite("Records of runs: numbered, locked while the run lives, kept for a while after it")
struct RunRecordsTests {
  private let folder: TestSupport.TemporaryFolder
  private let records: RunRecords

  init() throws {
    folder = try TestSupport.TemporaryFolder()
    records = RunRecords(below: FilePath(folder.path("state")))
  }

  private func record(beganAt: Int64 = WallClock.milliseconds()) -> RunRecord {
    RunRecord(
      process: .current, directory: "/out", startedIn: "/", list: "urls.txt", words: ["urls.txt"], beganAt: beganAt)
  }

  private func end(_ status: Int32, at: Int64 = WallClock.milliseconds()) -> RunRecord.End {
    RunRecord.End(status: status, at: at, done: 1, failed: 0, bytes: 3)
  }

  @Test func livesEndsAndDies() throws {
    #expect(records.all().isEmpty)
    #expect(!FileManager.default.fileExists(atPath: folder.path("state")), "nothing is made by a look")
    let first = try records.claim(record(), runtime: nil)
    var second: RunClaim? = try records.claim(record(), runtime: nil)
    #expect(records.all().map(\.record.number) == [1, 2])
    #expect(records.all().allSatisfy { $0.isAlive && !$0.hasDied })
    #expect(records.all()[0].record == first.record)
    try first.change { $0.door = "/a/door" }
    #expect(records.all()[0].record.door == "/a/door")
    try first.end(end(75))
    #expect(records.all()[0].record.end?.status == 75 && records.all()[0].record.door == nil)
    // A lock ends with the process, whatever its end was.
    #expect(second != nil)
    second = nil
    #expect(records.all()[1].hasDied && !records.all()[1].isAlive)
    for (name, mode) in [("state/records", 0o700), ("state/records/1.json", 0o600)] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
      #expect(attributes[.posixPermissions] as? Int == mode)
    }
  }

  @Test func keepsTheNewestTwentyForThirtyDays() throws {
    let day: Int64 = 24 * 3600 * 1000
    let now = WallClock.milliseconds()
    for number in 1...30 {
      let age = number <= 3 ? 31 * day : 0
      try records.claim(record(beganAt: now - age), runtime: nil).end(end(0, at: now - age))
      try folder.write([], to: "state/records/\(number).log")
    }
    let living = try records.claim(record(), runtime: nil)
    // Each claim leaves twenty that have ended.
    #expect(records.all().map(\.record.number) == Array(11...31))
    #expect(!FileManager.default.fileExists(atPath: folder.path("state/records/10.log")))
    #expect(FileManager.default.fileExists(atPath: folder.path("state/records/11.log")))
    #expect(living.record.number == 31)
  }

  /// Twenty small runs once took the number of a stopped one, and with it the way to resume it.
  @Test func whatCanBeResumedStays() throws {
    try records.claim(record(), runtime: nil).end(end(130))
    _ = try records.claim(record(), runtime: nil)  // killed
    for _ in 1...30 { try records.claim(record(), runtime: nil).end(end(0)) }
    _ = try records.claim(record(), runtime: nil)
    #expect(records.all().map(\.record.number) == [1, 2] + Array(13...33))
  }

  /// A run that is resumed keeps its number, and is resumed once.
  @Test func goesOnUnderItsNumber() throws {
    var first = record()
    first.withheld = ["--user"]
    try records.claim(first, runtime: nil).end(end(130))
    var again = record()
    again.number = 1
    let resumed = try records.claim(again, runtime: nil)
    #expect(resumed.record.number == 1 && resumed.record.withheld == ["--user"])
    #expect(records.all().count == 1 && records.all()[0].isAlive)
    #expect(try records.claim(again, runtime: nil).record.number == 2, "the first is alive")
  }

  /// More than 64 KiB of URLs made a run that was not found.
  @Test func longCommandLines() throws {
    var long = record()
    long.words = (0..<5000).map { "https://host.example/a/long/path/to/a/file/number-\($0).bin" }
    let claim = try records.claim(long, runtime: nil)
    #expect(records.all().map(\.record) == [claim.record])
  }

  /// Neither a stranger's file nor a broken record is read, moved or written over.
  @Test(arguments: ["", "{}", "{\"number\":1", "null\n", String(repeating: "[", count: 50_000)])
  func otherFiles(text: String) throws {
    _ = try records.claim(record(), runtime: nil)
    for name in ["1.json", "2.json", "x.json", "02.json"] {
      try folder.write(Array(text.utf8), to: "state/records/\(name)")
    }
    #expect(records.all().isEmpty)
    let claim = try records.claim(record(), runtime: nil)
    #expect(claim.record.number == 3)
    for name in ["1.json", "2.json", "x.json", "02.json"] {
      #expect(try folder.read("state/records/\(name)") == Array(text.utf8))
    }
  }

  @Test func anotherMachinesRuns() throws {
    var elsewhere = record()
    elsewhere.process.host = "elsewhere"
    _ = try records.claim(elsewhere, runtime: nil)
    #expect(records.all().isEmpty)
    for _ in 0..<25 { _ = try records.claim(record(), runtime: nil) }
    #expect(FileManager.default.fileExists(atPath: folder.path("state/records/1.json")), "it may be running there")
  }

  @Test func aProcessIsKnownByMoreThanItsNumber() throws {
    var process = RunProcess.current
    #expect(process.isAlive && process.isOnThisMachine && !process.isOfEarlierBoot)
    process.start = process.start.map { $0 + 1 }
    #expect(!process.isAlive)
    process = .current
    process.boot = "another"
    #expect(!process.isAlive && process.isOfEarlierBoot)
  }

  /// A command that came in a run's first moment was told that the run had ended.
  @Test func whoFindsARecordFindsItsDoor() async throws {
    let claim = try records.claim(record(), runtime: nil)
    let found = try #require(records.all().first).record
    let visitor = try RunStatus.connection(to: found)
    try visitor.send(["do": "status"])
    let door = try #require(claim.door)
    async let serving: Void = door.run { visitor in
      _ = await visitor.next()
      visitor.send(["ok": true])
    }
    let answer = try await offThePool { try visitor.line(within: 120_000) }
    #expect(answer.map { String(decoding: $0, as: UTF8.self) } == "{\"ok\":true}")
    door.close()
    await serving
  }

  /// Two processes that begin at once get two numbers.
  @Test func manyAtOnce() async throws {
    let numbers = try await withThrowingTaskGroup { group in
      for _ in 0..<16 { group.addTask { try records.claim(record(), runtime: nil) } }
      var claims: [RunClaim] = []
      for try await claim in group { claims.append(claim) }
      return claims.map(\.record.number).sorted()
    }
    #expect(numbers == Array(1...16))
  }
}
