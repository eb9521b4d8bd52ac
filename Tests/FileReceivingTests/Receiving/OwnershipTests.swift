import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

@Suite("Whose partial file it is: nobody else's is ever touched")
struct OwnershipTests {
  private static let body = pattern(2 << 20)

  private static func fetch(_ bench: Bench, _ address: String = "http://host/x") throws -> DownloadOutcome {
    let file = try bench.file(address)
    return try file.commit(try FakeAnswer.ok(body).give(to: file).1)
  }

  private static func interrupt(_ bench: Bench, _ address: String) throws {
    let file = try bench.file(address)
    _ = try FakeAnswer.ok(body).cut(after: 1000).give(to: file)
    try file.abandon()
  }

  @Test(arguments: [true, false])
  func aForeignPartIsLeftAlone(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write("a browser's", to: "x.part")
    #expect(try Self.fetch(bench).path.hasSuffix("/x"))
    #expect(try bench.folder.text("x.part") == "a browser's")
    #expect(try bench.folder.names() == ["x", "x.part"])
  }

  /// A file that the user called like the part of another one.
  @Test(arguments: [true, false])
  func aFinishedFileThatIsCalledPart(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let file = FileDownload(try bench.plan("http://host/y", requested: "x.part"))
    _ = try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1)
    _ = try Self.fetch(bench, "http://host/x")
    #expect(try bench.folder.read("x.part") == Self.body && bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x", "x.part"])
  }

  @Test(arguments: [true, false])
  func aRecordThatIsNoneKeepsItsPart(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write("bytes", to: "x.part")
    try bench.folder.write("{ torn", to: "x.part.json")
    _ = try Self.fetch(try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles))
    #expect(try bench.folder.text("x.part") == "bytes")
    #expect(try bench.folder.names() == ["x", "x.part", "x.part.json"])
  }

  @Test func anotherAddressIsAnotherOwner() throws {
    let bench = try Bench()
    try Self.interrupt(bench, "http://a/x")
    try Self.interrupt(bench, "http://b/x")
    let parts = ["x.1.part", "x.1.part.json", "x.part", "x.part.json"]
    #expect(try bench.folder.names() == parts)
    // In any order, each finds its own again.
    for address in ["http://b/x", "http://a/x"] {
      let file = try bench.file(address)
      #expect(try #require(try file.nextTransfer()).rangeStart == 1000)
      try file.abandon()
    }
  }

  @Test(arguments: [true, false])
  func twoAddressesWithOneNameAtOneTime(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let first = try bench.file("http://a/x")
    let second = try bench.file("http://b/x")
    let (_, one) = try FakeAnswer.ok(Self.body).give(to: first)
    let (_, two) = try FakeAnswer.ok(pattern(2 << 20, seed: 9)).give(to: second)
    #expect(try bench.folder.names() == ["x.1.part", "x.1.part.json", "x.part", "x.part.json"])
    #expect(try second.commit(two).path.hasSuffix("/x"))
    let outcome = try first.commit(one)
    #expect(outcome.path.hasSuffix("/x.1"))
    #expect(outcome.renamedFrom?.hasSuffix("/x") == true)
    #expect(try bench.folder.read("x.1") == Self.body)
    #expect(try bench.folder.names() == ["x", "x.1"])
  }

  /// HTTP rule 19: another living process has the part; its lock says so.
  @Test(arguments: [true, false])
  func aPartInUseByAnotherProcess(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let running = try bench.file()
    _ = try FakeAnswer.ok(Self.body).cut(after: 1000).give(to: running)
    let other = try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles)
    let file = try other.file()
    let (request, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    #expect(request.rangeStart == nil)
    #expect(try file.commit(receipt).path.hasSuffix("/x"))
    #expect(try bench.folder.read("x.part").count == 1000)
    try running.abandon()
  }

  @Test(arguments: [true, false])
  func symbolicLinksAreNotFollowed(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write("precious", to: "victim")
    for name in ["x", "x.part", "x.1.part", "x.1.part.json"] { try bench.folder.link(name, to: "victim") }
    let outcome = try Self.fetch(try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles))
    #expect(outcome.path.hasSuffix("/x.1"))
    #expect(try bench.folder.text("victim") == "precious")
    #expect(try bench.folder.read("x.1") == Self.body)
  }

  /// A record behind a link is nobody's, whatever it says.
  @Test func aLinkToARecordIsNoRecord() throws {
    let bench = try Bench()
    let held = HeldPart(validator: Validator(etag: "\"v1\""), total: Int64(Self.body.count))
    let owner = "http://host/x"
    try bench.folder.write(
      ResumeMetadata(address: owner, held: held, name: "x").json(bench.directory.secret), to: "planted")
    try bench.folder.link("x.part.json", to: "planted")
    try bench.folder.write("a browser's", to: "x.part")
    let file = try bench.anotherProcess().file()
    #expect(try #require(try file.nextTransfer()).rangeStart == nil)
    _ = try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1)
    #expect(try bench.folder.text("x.part") == "a browser's")
  }

  @Test func overwritingReplacesALinkAndNotItsTarget() throws {
    let bench = try Bench()
    try bench.folder.write("precious", to: "victim")
    try bench.folder.link("x", to: "victim")
    let file = FileDownload(try bench.plan(policy: .overwrite))
    _ = try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1)
    #expect(try bench.folder.text("victim") == "precious")
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["victim", "x"])
  }

  @Test func aForgedRecordCannotLeadOutOfTheFolder() throws {
    let bench = try Bench()
    let held = HeldPart(length: 0, validator: Validator(etag: "\"v1\""), total: 5)
    let owner = "http://host/x"
    try bench.folder.write("12345", to: "x.part")
    try bench.folder.write(
      ResumeMetadata(address: owner, held: held, name: "../../etc/cron.d/x").json(bench.directory.secret),
      to: "x.part.json")
    let file = try bench.anotherProcess().file()
    #expect(try #require(try file.nextTransfer()).rangeStart == nil)
    #expect(file.finalName == "x")
  }

  @Test func aPartLongerThanItsWholeIsNotTrusted() throws {
    let bench = try Bench()
    try Self.interrupt(bench, "http://host/x")
    try bench.folder.write(pattern(3 << 20), to: "x.part")
    let file = try bench.file()
    let (request, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    #expect(request.rangeStart == nil)
    _ = try file.commit(receipt)
    #expect(try bench.folder.read("x") == Self.body)
  }

  /// Another process's part appears under a name that was free when this one began.
  @Test(arguments: [true, false])
  func aPartThatAppearsLater(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try Self.interrupt(try bench.anotherProcess(), "http://other/x")
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    #expect(try bench.folder.names() == ["x.1.part", "x.1.part.json", "x.part", "x.part.json"])
    _ = try file.commit(receipt)
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x", "x.part", "x.part.json"])
  }

  /// A folder too large to be read at the start: each file looks for its own record.
  @Test func inAVeryLargeFolder() throws {
    let bench = try Bench()
    try Self.interrupt(bench, "http://host/x")
    for number in 0...10_000 { try bench.folder.write([], to: "\(number)") }
    let file = try bench.anotherProcess().file()
    #expect(try #require(try file.nextTransfer()).rangeStart == 1000)
  }

  /// The name that was taken while a part was made is free in the next run: the part is found all the same.
  @Test func aPartUnderANumberIsFoundWhenTheNameIsFree() throws {
    let bench = try Bench()
    try Self.interrupt(bench, "http://a/x")
    try Self.interrupt(bench, "http://b/x")
    try bench.folder.remove("x.part")
    try bench.folder.remove("x.part.json")
    let file = try bench.anotherProcess().file("http://b/x")
    #expect(try #require(try file.nextTransfer()).rangeStart == 1000)
  }

  @Test func namesThatOnlyLookNumbered() throws {
    let bench = try Bench()
    for name in ["x.0", "x.01", "x.a", "x.1.y", "x.1000", "y.1", "x.7"] {
      try bench.folder.write("{}", to: name + ".part.json")
    }
    #expect(try bench.anotherProcess().directory.numbersOfMetadata(beside: "x") == [7, 1000])
    #expect(try bench.anotherProcess().directory.numbersOfMetadata(beside: "x.tar.gz") == [])
  }
}
