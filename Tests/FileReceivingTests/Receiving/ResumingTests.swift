import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

@Suite("Going on where an attempt or a run ended (HTTP rules 1–10 and 13)")
struct ResumingTests {
  private static let body = pattern(200_000)

  /// A run that received `count` bytes and was interrupted.
  private static func interrupted(
    _ bench: Bench, after count: Int, _ answer: FakeAnswer = .ok(body), address: String = "http://host/x"
  ) throws {
    let file = try bench.file(address)
    _ = try answer.cut(after: count).give(to: file)
    try file.abandon()
  }

  @Test(arguments: [true, false], [1, 100_000, 199_999])
  func anotherRunFetchesTheRest(usesUnnamedFiles: Bool, count: Int) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try Self.interrupted(bench, after: count)
    #expect(try bench.folder.names() == ["x.part", "x.part.json"])
    let meter = TransferMeter()
    let file = try bench.file(meter: meter)
    let (request, receipt) = try FakeAnswer.rest(Self.body, from: count).give(to: file)
    #expect(request.rangeStart == Int64(count) && request.headerLines == ["If-Range: \"v1\""])
    #expect(meter.start == Int64(count) && meter.position == 200_000 && meter.total == 200_000)
    let outcome = try file.commit(receipt)
    #expect(outcome.resumed == Int64(count) && outcome.transferred == Int64(200_000 - count))
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test func anotherAttemptOfTheSameRunFetchesTheRest() throws {
    let bench = try Bench()
    let meter = TransferMeter()
    let file = try bench.file(meter: meter)
    _ = try FakeAnswer.ok(Self.body).cut(after: 1000).give(to: file)
    let (request, receipt) = try FakeAnswer.rest(Self.body, from: 1000).give(to: file)
    #expect(request.rangeStart == 1000)
    let outcome = try file.commit(receipt)
    // Bytes of this run are not "resumed": that word is for earlier ones.
    #expect(outcome.resumed == 0 && outcome.transferred == 200_000)
    #expect(meter.position == 200_000)
    #expect(try bench.folder.read("x") == Self.body)
  }

  /// HTTP rule 2: a 200 to a ranged request.
  @Test(arguments: [true, false])
  func aNewVersionStartsOverInTheSameAnswer(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    try Self.interrupted(bench, after: 150_000)
    let new = pattern(90_000, seed: 7)
    let meter = TransferMeter()
    let file = try bench.file(meter: meter)
    let (_, receipt) = try FakeAnswer.ok(new, etag: "\"v2\"").give(to: file)
    #expect(meter.start == 0 && meter.position == 90_000)
    let record = try #require(
      ResumeMetadata(json: try bench.folder.read("x.part.json"), secret: bench.directory.secret))
    #expect(record.held.validator.etag == "\"v2\"" && record.held.total == 90_000)
    let outcome = try file.commit(receipt)
    #expect(outcome.resumed == 0)
    #expect(try bench.folder.read("x") == new)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test func aChanged206AsksAgainForTheWhole() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 1000)
    let file = try bench.file()
    let error = #expect(throws: DownloadError.self) {
      _ = try FakeAnswer.rest(Self.body, from: 1000, etag: "\"v2\"").give(to: file)
    }
    #expect(error?.code == .range && error?.isTransient == true)
    let (request, receipt) = try FakeAnswer.ok(Self.body, etag: "\"v2\"").give(to: file)
    #expect(request.rangeStart == nil && request.headerLines.isEmpty)
    let outcome = try file.commit(receipt)
    #expect(outcome.resumed == 0 && outcome.transferred == 200_000)
  }

  /// HTTP rule 4: killed between the last byte and the final name.
  @Test func aWholePartIsFinishedWithoutABody() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 200_000)
    let file = try bench.file()
    let (request, receipt) = try FakeAnswer(416, ["Content-Range": "bytes */200000"]).give(to: file)
    #expect(request.rangeStart == 200_000)
    let outcome = try file.commit(receipt)
    #expect(outcome.kind == .fetched && outcome.transferred == 0 && outcome.resumed == 200_000)
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x"])
  }

  @Test func a416OfAnotherLengthStartsOver() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 1000)
    let file = try bench.file()
    #expect(throws: DownloadError.self) {
      _ = try FakeAnswer(416, ["Content-Range": "bytes */500"]).give(to: file)
    }
    #expect(try #require(try file.nextTransfer()).rangeStart == nil)
  }

  /// HTTP rule 7: one try without If-Range, and no endless asking.
  @Test func aServerThatDislikesIfRange() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 1000)
    let file = try bench.file()
    let whole = FakeAnswer(
      200, ["Content-Length": "200000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"], body: Self.body)
    let ignored = #expect(throws: DownloadError.self) { _ = try whole.give(to: file) }
    #expect(ignored?.code == .range && ignored?.isTransient == true)
    let (request, receipt) = try FakeAnswer.rest(Self.body, from: 1000).give(to: file)
    #expect(request.rangeStart == 1000 && request.headerLines.isEmpty)
    #expect(try file.commit(receipt).resumed == 1000)
    #expect(try bench.folder.read("x") == Self.body)

    try Self.interrupted(bench, after: 1000, address: "http://host/y")
    let stubborn = try bench.file("http://host/y")
    #expect(throws: DownloadError.self) { _ = try whole.give(to: stubborn) }
    let (_, second) = try whole.give(to: stubborn)
    #expect(try stubborn.commit(second).resumed == 0)
    #expect(try bench.folder.read("y") == Self.body)
  }

  /// HTTP rule 7: without any validator the end of the part is the proof.
  @Test func withoutValidatorTheTailIsCompared() throws {
    let bench = try Bench()
    let bare = FakeAnswer(200, ["Content-Length": "200000"], body: Self.body)
    try Self.interrupted(bench, after: 100_000, bare)
    let meter = TransferMeter()
    let file = try bench.file(meter: meter)
    let from = 100_000 - 65_536
    var rest = FakeAnswer(206, ["Content-Range": "bytes \(from)-199999/200000"])
    // In pieces whose borders are not those of the tail.
    rest.chunks = [
      Array(Self.body[from..<50_000]), Array(Self.body[50_000..<120_000]), Array(Self.body[120_000...]),
    ]
    let (request, receipt) = try rest.give(to: file)
    #expect(request.rangeStart == Int64(from) && request.headerLines.isEmpty)
    #expect(try file.commit(receipt).size == 200_000)
    #expect(meter.position == 200_000)
    #expect(try bench.folder.read("x") == Self.body)
  }

  @Test func aTailThatDiffersStartsOver() throws {
    let bench = try Bench()
    let bare = FakeAnswer(200, ["Content-Length": "200000"], body: Self.body)
    try Self.interrupted(bench, after: 100_000, bare)
    let changed = pattern(200_000, seed: 1)
    let file = try bench.file()
    let from = 100_000 - 65_536
    let rest = FakeAnswer(
      206, ["Content-Range": "bytes \(from)-199999/200000"], body: Array(changed[from...]))
    let error = #expect(throws: DownloadError.self) { _ = try rest.give(to: file) }
    #expect(error?.isTransient == true)
    let (request, receipt) = try FakeAnswer(200, ["Content-Length": "200000"], body: changed).give(to: file)
    #expect(request.rangeStart == nil)
    #expect(try file.commit(receipt).resumed == 0)
    #expect(try bench.folder.read("x") == changed)
  }

  /// A weak validator promises no bytes: the part's last ones are compared, as where there is none (HTTP rule
  /// 34).
  @Test func aWeakValidatorResumesByItsTail() throws {
    let bench = try Bench()
    let large = pattern(2 << 20)
    try Self.interrupted(bench, after: 100_000, .ok(large, etag: "W/\"v1\""))
    #expect(try bench.folder.names() == ["x.part", "x.part.json"])
    let file = try bench.file()
    let from = 100_000 - 65_536
    let (request, receipt) = try FakeAnswer.rest(large, from: from, etag: "W/\"v1\"").give(to: file)
    #expect(request.rangeStart == Int64(from))
    #expect(request.headerLines.isEmpty)
    #expect(try file.commit(receipt).resumed == 100_000)
    #expect(try bench.folder.read("x") == large)
    #expect(try bench.folder.names() == ["x"])
  }

  /// Not even shown when it was not visible yet: a part that cannot be resumed helps nobody.
  @Test func aShortPartThatCannotBeResumedIsDropped() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 60_000, .ok(Self.body, etag: "W/\"v1\""))
    #expect(try bench.folder.names() == [])
  }

  /// What was decoded cannot be gone on from: no range of what the server sends is a range of it. A part that
  /// has its name from before keeps it, with a record that says so.
  @Test(arguments: [true, false])
  func whatWasDecodedStartsOver(usesUnnamedFiles: Bool) throws {
    let bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let coded = FakeAnswer(
      200, ["Content-Length": "70", "ETag": "\"v2\"", "Content-Encoding": "gzip"], body: Self.body)
    let large = pattern(2 << 20)
    try Self.interrupted(bench, after: 100_000, .ok(large))
    do {
      let file = try bench.file()
      _ = try coded.cut(after: 150_000).give(to: file)
      try file.abandon()
    }
    let next = try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles)
    let file = try next.file()
    let (request, receipt) = try coded.give(to: file)
    #expect(request.rangeStart == nil)
    #expect(request.headerLines.isEmpty)
    let outcome = try file.commit(receipt)
    #expect(outcome.remark == .decoded)
    #expect(outcome.resumed == 0)
    #expect(try bench.folder.read("x") == Self.body)
    #expect(try bench.folder.names() == ["x"])
  }

  /// A server that sends less than was asked for: the rest is asked for again.
  @Test func aShort206GoesOnWhereItEnded() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 1000)
    let file = try bench.file()
    let piece = FakeAnswer(
      206, ["Content-Range": "bytes 1000-1999/200000", "ETag": "\"v1\""], body: Array(Self.body[1000..<2000]))
    let (_, receipt) = try piece.give(to: file)
    #expect(try file.ended(receipt) == .partly)
    #expect(try #require(try file.nextTransfer()).rangeStart == 2000)
  }

  @Test func aFailedAttemptKeepsThePart() throws {
    let bench = try Bench()
    try Self.interrupted(bench, after: 1000)
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer(404).give(to: file)
    #expect(throws: DownloadError.self) { _ = try file.ended(receipt) }
    try file.abandon()
    #expect(try bench.folder.read("x.part").count == 1000)
    #expect(try bench.folder.names() == ["x.part", "x.part.json"])
  }

  @Test func theNameOfTheFirstAnswerOutlivesTheRun() throws {
    let bench = try Bench()
    let named = FakeAnswer(
      200,
      [
        "Content-Length": "200000", "ETag": "\"v1\"",
        "Content-Disposition": "attachment; filename=report.pdf",
      ],
      body: Self.body)
    try Self.interrupted(bench, after: 200_000, named)
    let file = try bench.file()
    let (_, receipt) = try FakeAnswer(416, ["Content-Range": "bytes */200000"]).give(to: file)
    #expect(try file.commit(receipt).path.hasSuffix("/report.pdf"))
    #expect(try bench.folder.names() == ["report.pdf"])
  }

  /// What the user calls it goes before what the server called it in an earlier run.
  @Test func aChosenNameOutlivesTheFirstAnswers() throws {
    let bench = try Bench()
    let named = FakeAnswer(
      200,
      [
        "Content-Length": "200000", "ETag": "\"v1\"",
        "Content-Disposition": "attachment; filename=report.pdf",
      ],
      body: Self.body)
    try Self.interrupted(bench, after: 200_000, named)
    let file = FileDownload(try bench.plan(requested: "x"))
    let (_, receipt) = try FakeAnswer(416, ["Content-Range": "bytes */200000"]).give(to: file)
    #expect(try file.commit(receipt).path.hasSuffix("/x"))
    #expect(try bench.folder.names() == ["x"])
  }
}
