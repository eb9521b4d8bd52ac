import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

/// A folder that others write into: a `.part` with a record that another user had planted was continued, and
/// stayed writable by its planter.
@Suite("Parts and records that only look like dlm's (HTTP rule 44)")
struct BystanderTests {
  private static let body = pattern(2 << 20)
  private static let planted = pattern(1000, seed: 3)

  private static func record(_ secret: UserSecret) -> [UInt8] {
    let held = HeldPart(validator: Validator(etag: "\"v1\""), total: Int64(body.count))
    return ResumeMetadata(
      address: "http://host/x", held: held, name: "x"
    ).json(secret)
  }

  private static func chmod(_ bench: Bench, _ name: String, _ mode: mode_t) {
    #expect(Glibc.chmod(bench.folder.path(name), mode) == 0)
  }

  private static func mode(_ bench: Bench, _ name: String) throws -> mode_t {
    try bench.directory.folder.open(name, O_RDONLY).status().st_mode & 0o777
  }

  enum Planted: CaseIterable {
    case unsealed, ofAnotherFormat, sealedByAnother, altered, writablePart, writableRecord, linkedRecord,
      linkedPart, huge
  }

  /// Whatever is planted is not continued, and stands there afterwards as it stood before.
  @Test(arguments: Planted.allCases, [true, false])
  func isNeitherContinuedNorChanged(planted: Planted, usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let secret = bench.directory.secret
    let sealed = Self.record(secret)
    var record = sealed
    switch planted {
    case .unsealed: record = Self.replacing(sealed, "\"seal\"", "\"sealed\"")
    case .ofAnotherFormat: record = Self.replacing(sealed, "\"format\" : 1", "\"format\" : 2")
    case .sealedByAnother: record = Self.record(.forThisProcess())
    case .altered: record = Self.replacing(sealed, "v1", "v2")
    case .huge: record = sealed + Array(repeating: UInt8(ascii: " "), count: 1 << 20)
    case .writablePart, .writableRecord, .linkedRecord, .linkedPart: break
    }
    try bench.folder.write(Self.planted, to: planted == .linkedPart ? "victim" : "x.part")
    if planted == .linkedPart { try bench.folder.link("x.part", to: "victim") }
    try bench.folder.write(record, to: "x.part.json")
    if planted == .writablePart { Self.chmod(bench, "x.part", 0o666) }
    if planted == .writableRecord { Self.chmod(bench, "x.part.json", 0o664) }
    if planted == .linkedRecord { try bench.folder.hardLink("x.part.json", as: "other") }
    let before = try bench.folder.names()

    let file = try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles).file()
    let (request, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    #expect(request.rangeStart == nil)
    _ = try file.commit(receipt)
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.read("x.part") == Self.planted)
    #expect(try bench.folder.read("x.part.json") == record)
    #expect(try bench.folder.names() == (before + ["x"]).sorted())
  }

  private static func replacing(_ bytes: [UInt8], _ old: String, _ new: String) -> [UInt8] {
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains(old))
    return Array(text.replacing(old, with: new).utf8)
  }

  /// What cannot even be opened is somebody's too, and no failure of this file's.
  @Test(arguments: [true, false])
  func whatIsNoFileIsSteppedAround(usesUnnamedFiles: Bool) throws {
    for (number, name) in ["x.part", "x.part.json"].enumerated() {
      let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
      #expect(mkfifo(bench.folder.path(name), 0o600) == 0)
      if number == 0 { try bench.folder.write(Self.record(bench.directory.secret), to: "x.part.json") }
      let file = try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles).file()
      _ = try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1)
      #expect(try bench.folder.read("x") == Self.body)
      #expect(try bench.folder.names().contains(name))
    }
  }

  /// Without files that have no name, an empty part needs no record: only the user's own is taken over.
  @Test func anEmptyPartThatOthersCanWriteIsTheirs() throws {
    let bench = try Bench(usesUnnamedFiles: false)
    try bench.folder.write([], to: "x.part")
    Self.chmod(bench, "x.part", 0o666)
    let file = try bench.anotherProcess(usesUnnamedFiles: false).file()
    _ = try file.commit(try FakeAnswer.ok(Self.body).give(to: file).1)
    #expect(try bench.folder.names() == ["x", "x.part"])
    #expect(try bench.folder.read("x.part") == [])
  }

  /// As on a network's file system without locks, where two machines may have one part: what the other has named is the
  /// file.
  @Test func aPartThatAnotherMachineNamed() throws {
    let bench = try Bench(usesUnnamedFiles: false)
    let file = FileDownload(try bench.plan(rules: { $0.names = NameNumbers() }))
    let (_, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    try bench.directory.folder.rename("x.part", toFree: "x")
    _ = try file.ended(receipt)
    let commit = Commit(file, proof: .length)
    #expect(try commit.attempt(.known(nil), FileOwners(), looksForTwin: true) == .twinPossible)
    #expect(try commit.adopt(FileOwners())?.outcome.remark == .sameAsHere)
    #expect(try bench.folder.names() == ["x"] && bench.folder.read("x") == Self.body)
  }

  /// While it is a part it is the user's alone; finished, it is what every new file is.
  @Test(arguments: [true, false])
  func permissions(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try bench.folder.write([], to: "new")
    // 0644 of it, by the mask that tests run with, or less.
    let usual = 0o666 & bench.directory.folder.modeOfNewFiles()
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer.ok(Self.body).give(to: file)
    #expect(try Self.mode(bench, "x.part") == 0o600)
    #expect(try Self.mode(bench, "x.part.json") == 0o600)
    _ = try file.commit(receipt)
    #expect(try Self.mode(bench, "x") == usual)
    #expect(try Self.mode(bench, "new") & ~usual == 0)
    let small = try bench.file("http://host/y")
    _ = try small.commit(try FakeAnswer.ok(pattern(10)).give(to: small).1)
    #expect(try Self.mode(bench, "y") == usual)
  }

  /// `x.part.json.new` was removed, whoever had put it there, whenever a record was written anew.
  @Test(arguments: [true, false])
  func whatStandsWhereARecordWasMadeAnewStays(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let first = try bench.file()
    _ = try FakeAnswer.ok(Self.body).cut(after: 1000).give(to: first)
    try first.abandon()
    try bench.folder.write("theirs", to: "x.part.json.new")
    // Somebody saw the name of the draft, and took it.
    let draft = PartialName("x").draft(bench.directory.secret, 0)
    try bench.folder.write("victim", to: "victim")
    try bench.folder.link(draft, to: "victim")
    let file = try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles).file()
    _ = try file.commit(try FakeAnswer.ok(Self.body, etag: "\"v2\"").give(to: file).1)
    #expect(try bench.folder.text("x.part.json.new") == "theirs")
    #expect(try bench.folder.text("victim") == "victim")
    #expect(try bench.folder.names() == [draft, "victim", "x", "x.part.json.new"].sorted())
  }

  /// Killed between a draft and its renaming: the next run removes it, although it writes no record itself.
  @Test func aDraftThatAKilledProcessLeftIsRemoved() throws {
    let bench = try Bench()
    let first = try bench.file()
    _ = try FakeAnswer.ok(Self.body).cut(after: 1000).give(to: first)
    try first.abandon()
    try bench.folder.write("{ torn", to: PartialName("x").draft(bench.directory.secret, 0))
    let file = try bench.anotherProcess().file()
    #expect(try #require(try file.nextTransfer()).rangeStart == 1000)
    #expect(try bench.folder.names() == ["x.part", "x.part.json"])
  }
}
