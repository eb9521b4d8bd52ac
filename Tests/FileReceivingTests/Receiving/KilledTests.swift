import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

/// The table in `StagedFile`, row by row: the disk as a SIGKILL leaves it, and the run after.
@Suite("Killed at any moment (HTTP rule 10)")
struct KilledTests {
  private static let body = pattern(2 << 20)
  private static let owner = "http://host/x"

  private static func record(
    _ secret: UserSecret, _ length: Int = body.count, etag: String = "\"v1\""
  ) -> [UInt8] {
    let held = HeldPart(validator: Validator(etag: etag), total: Int64(length))
    return ResumeMetadata(address: owner, held: held, name: "x").json(secret)
  }

  /// The run after.
  private static func finish(_ bench: Bench, _ answer: FakeAnswer) throws -> (
    TransferRequest, DownloadOutcome
  ) {
    let file = try bench.anotherProcess(usesUnnamedFiles: bench.directory.route != nil).file()
    let (request, receipt) = try answer.give(to: file)
    return (request, try file.commit(receipt))
  }

  @Test("2: a record without its part", arguments: [true, false])
  func orphanedRecord(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json")
    let (request, _) = try Self.finish(bench, .ok(pattern(100)))
    #expect(request.rangeStart == nil)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test("2: the same, while its process is about to link the part")
  func recordInUse() throws {
    let bench = try Bench()
    try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json")
    let record = try bench.directory.folder.open("x.part.json", 0)
    let isOurs = record.lock()
    #expect(isOurs)
    _ = try Self.finish(bench, .ok(Self.body))
    #expect(try bench.folder.read("x.part.json") == Self.record(bench.directory.secret))
    record.unlock()
  }

  @Test("2: a record of another address stays for that one")
  func foreignRecord() throws {
    let bench = try Bench()
    try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json")
    let file = try bench.anotherProcess().file("http://other/x")
    _ = try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1)
    #expect(try bench.folder.names() == ["x", "x.part.json"])
  }

  @Test("3: part and record", arguments: [true, false], [0, 1, 2 << 20])
  func partAndRecord(usesUnnamedFiles: Bool, length: Int) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write(Array(Self.body.prefix(length)), to: "x.part")
    try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json")
    let answer: FakeAnswer =
      switch length {
      case 0: .ok(Self.body)
      case Self.body.count: FakeAnswer(416, ["Content-Range": "bytes */\(Self.body.count)"])
      default: .rest(Self.body, from: length)
      }
    let (request, outcome) = try Self.finish(bench, answer)
    #expect(request.rangeStart == (length == 0 ? nil : Int64(length)))
    #expect(outcome.resumed == Int64(length))
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test("4: emptied, the old record still there, and half of the new one")
  func halfReplacedRecord() throws {
    let bench = try Bench()
    try bench.folder.write([], to: "x.part")
    try bench.folder.write(Self.record(bench.directory.secret, etag: "\"old\""), to: "x.part.json")
    let draft = PartialName("x").draft(bench.directory.secret, 0)
    try bench.folder.write("{ \"for", to: draft)
    let (request, _) = try Self.finish(bench, .ok(Self.body))
    #expect(request.rangeStart == nil)
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x"])
  }

  /// A server without ranges would have this part start over: emptied under its one name, it would be emptied
  /// under the other.
  @Test("6: between the link and the unlink that stand in for a rename")
  func bothNames() throws {
    let bench = try Bench()
    try bench.folder.write(Self.body, to: "x.part")
    try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json")
    try bench.folder.hardLink("x.part", as: "x")
    let file = try bench.anotherProcess().file()
    #expect(try #require(try file.nextTransfer()).rangeStart == nil)
    #expect(try bench.folder.names() == ["x"])
    _ = try file.accept(#require(FakeAnswer.ok(Self.body, etag: "\"v2\"").head))
    #expect(try bench.folder.read("x") == Self.body)
  }

  @Test("7: the finished file, its record still there")
  func finishedWithRecord() throws {
    let bench = try Bench()
    try bench.folder.write(Self.body, to: "x")
    try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json")
    let file = try bench.anotherProcess().file()
    #expect(try #require(try file.nextTransfer()).rangeStart == nil)
    #expect(try bench.folder.names() == ["x"])
  }

  /// A young one may be that of another machine, which has just begun.
  @Test("1, with names from the start: an empty part without a record", arguments: [true, false])
  func emptyPart(isOld: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: false)
    try bench.folder.write([], to: "x.part")
    let old = timeval(tv_sec: time(nil) - 120, tv_usec: 0)
    if isOld { #expect(utimes(bench.folder.path("x.part"), [old, old]) == 0) }
    _ = try Self.finish(bench, .ok(Self.body))
    #expect(try bench.folder.names() == (isOld ? ["x"] : ["x", "x.part"]))
  }
}
