import DownloadModel
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

@Suite("A fresh file, on disks with and without unnamed files")
struct WritingTests {
  private static let short = pattern(5000)
  private static let long = pattern(3 << 20)

  @Test(arguments: [true, false], [5000, 3 << 20])
  func becomesAFileAndNothingElse(usesUnnamedFiles: Bool, size: Int) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let body = pattern(size)
    let meter = TransferMeter()
    let file = try bench.file(meter: meter)
    let (request, receipt) = try FakeAnswer.ok(body).give(to: file)
    #expect(request.rangeStart == nil && request.headerLines.isEmpty)
    let outcome = try file.commit(receipt)
    #expect(outcome.kind == .fetched)
    #expect(outcome.path == bench.folder.path + "/x")
    #expect(outcome.size == Int64(size) && outcome.transferred == Int64(size) && outcome.resumed == 0)
    #expect(outcome.renamedFrom == nil)
    #expect(try bench.folder.read("x") == body)
    #expect(try bench.folder.names() == ["x"])
    #expect(meter.position == Int64(size) && meter.total == Int64(size))
    // Memory does not grow with finished files.
    #expect(bench.isFree("x"))
    #expect(!bench.directory.mayHoldMetadata(PartialName("x")))
  }

  @Test(arguments: [true, false])
  func emptyFile(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer.ok([]).give(to: file)
    #expect(try file.commit(receipt).size == 0)
    #expect(try bench.folder.names() == ["x"])
  }

  /// Killed before its first MiB, a file leaves nothing at all; above, it can be resumed.
  @Test func showsItselfOnlyWhenWorthResuming() throws {
    let bench = try Bench()
    let file = try bench.file()
    _ = try FakeAnswer.ok(Self.short).cut(after: 4000).give(to: file)
    #expect(try bench.folder.names() == [])

    let large = try bench.file("http://host/y")
    _ = try FakeAnswer.ok(Self.long).cut(after: 4000).give(to: large)
    #expect(try bench.folder.names() == ["y.part", "y.part.json"])
    let record = try #require(
      ResumeMetadata(json: try bench.folder.read("y.part.json"), secret: bench.directory.secret))
    #expect(record.address == "http://host/y")
    #expect(record.held.total == Int64(Self.long.count))
    #expect(record.held.validator.etag == "\"v1\"")
    withExtendedLifetime((file, large)) {}
  }

  @Test func ofUnknownLengthShowsItselfWhenItGrows() throws {
    let bench = try Bench()
    let file = try bench.file()
    var answer = FakeAnswer(200, ["ETag": "\"v1\""])
    answer.chunks = [pattern(65_536)]
    answer.end = .finished(.framing)
    _ = try answer.give(to: file)
    #expect(try bench.folder.names() == [])
    try file.write([1])
    #expect(try bench.folder.names() == ["x.part", "x.part.json"])
    let outcome = try file.commit(TransferReceipt(status: 200, bodyBytes: 65_537, proof: .framing))
    #expect(outcome.size == 65_537)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test(arguments: [true, false])
  func abandonedWithoutABodyLeavesNothing(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let file = try bench.file()
    _ = try file.nextTransfer()
    _ = try file.accept(#require(FakeAnswer.ok(Self.long).head))
    try file.abandon()
    #expect(try bench.folder.names() == [])
    #expect(bench.isFree("x"))
  }

  /// The safety net: a file that nobody ended at all frees its name and its descriptor.
  @Test func droppedFreesItsName() throws {
    let bench = try Bench()
    do {
      let file = try bench.file()
      _ = try FakeAnswer.ok(Self.long).cut(after: 10).give(to: file)
      #expect(!bench.isFree("x"))
    }
    #expect(bench.isFree("x"))
    // The lock is free as well: another process resumes.
    let (request, _) = try FakeAnswer.rest(Self.long, from: 10).give(to: try bench.anotherProcess().file())
    #expect(request.rangeStart == 10)
  }

  @Test func shortBodyIsPassingAndKept() throws {
    let bench = try Bench()
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer.ok(Self.short).cut(after: 4000).give(to: file)
    let error = #expect(throws: DownloadError.self) { _ = try file.ended(receipt) }
    #expect(error?.code == .shortBody && error?.isTransient == true && error?.address == "http://host/x")
    try file.abandon()
    #expect(try bench.folder.read("x.part") == Array(Self.short.prefix(4000)))
  }

  @Test func longBodyIsPassingAndItsGoodPartKept() throws {
    let bench = try Bench()
    let file = try bench.file()
    var answer = FakeAnswer.ok(Self.short)
    answer.chunks = [Array(Self.short.prefix(3000)), Array(Self.short.suffix(2000)) + [1, 2, 3]]
    let error = #expect(throws: DownloadError.self) { _ = try answer.give(to: file) }
    #expect(error?.code == .longBody && error?.isTransient == true)
    try file.abandon()
    #expect(try bench.folder.read("x.part") == Self.short)
  }

  @Test func noAnswerIsNoFile() throws {
    let bench = try Bench()
    let file = try bench.file()
    _ = try file.nextTransfer()
    let error = #expect(throws: DownloadError.self) {
      _ = try file.ended(TransferReceipt(status: 200, bodyBytes: 0, proof: .length))
    }
    #expect(error?.code == .badResponse)
  }

  /// A permanent failure's short page is drained to keep the connection; the failure comes at the end.
  @Test func permanentStatusIsToldAtTheEnd() throws {
    let bench = try Bench()
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer(404, ["Content-Length": "9"], body: pattern(9)).give(to: file)
    #expect(receipt.bodyBytes == 0)
    let error = #expect(throws: DownloadError.self) { _ = try file.ended(receipt) }
    #expect(error?.code == .status && error?.cause == .http(status: 404) && error?.isTransient == false)
    #expect(error?.address == "http://host/x")
    try file.abandon()
    #expect(try bench.folder.names() == [])
  }

  /// A passing one comes at once: whoever repeats attempts is inside the fetch, and must see it there.
  @Test func passingStatusIsToldAtOnceAndTheNextAttemptGoesOn() throws {
    let bench = try Bench()
    let file = try bench.file()
    let error = #expect(throws: DownloadError.self) {
      _ = try FakeAnswer(503, ["Retry-After": "3"]).give(to: file)
    }
    #expect(error?.isTransient == true && error?.retryAfter == .seconds(3))
    let (_, receipt) = try FakeAnswer.ok(Self.short).give(to: file)
    #expect(try file.commit(receipt).size == 5000)
  }

  @Test func closedFramingIsWholeButNotProven() throws {
    let bench = try Bench()
    let file = FileDownload(try bench.plan(isIndexed: true))
    var answer = FakeAnswer(200, ["ETag": "\"v1\""], body: Self.short)
    answer.end = .finished(.nothing)
    let (_, receipt) = try answer.give(to: file)
    #expect(try file.ended(receipt) == .whole(.nothing))
    let row = try #require(try file.placed(proof: .nothing).1)
    #expect(row.validator.isEmpty)
    #expect(row.identity.size == 5000)
  }

  @Test func noStoreLeavesNoValidator() throws {
    let bench = try Bench()
    let file = FileDownload(try bench.plan(isIndexed: true))
    let answer = FakeAnswer(200, ["ETag": "\"v1\"", "Cache-Control": "private, No-Store"], body: Self.short)
    _ = try answer.give(to: file)
    let row = try #require(try file.placed().1)
    #expect(row.validator.isEmpty)
  }

  @Test func theDiskBeingFullIsSaidSo() throws {
    let bench = try Bench()
    #expect(bench.directory.failure(.noSpace, "writing", "x").code == .diskFull)
    #expect(bench.directory.failure(.diskQuotaExceeded, "writing", "x").code == .diskFull)
    #expect(bench.directory.failure(.ioError, "writing", "x").code == .disk)
    #expect(bench.directory.failure(.readOnlyFileSystem, "creating", "x").code == .folder)
    #expect(bench.directory.failure(.ioError, "writing", "x").path == bench.folder.path + "/x")
  }
}
