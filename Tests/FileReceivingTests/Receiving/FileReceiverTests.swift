import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

/// What comes of an answer, of its bytes and of its end, for one file and what is there of it.
@Suite("What FileReceiver decides")
struct FileReceiverTests {
  private static let body = pattern(5000)
  private static let large: Int64 = 4 << 20

  struct Answer: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var address = "http://host/x"
    /// Bytes that an earlier run left of version "v1", of 5000.
    var held = 0
    var policy = ConflictPolicy.rename
    var rules: @Sendable (inout ReceivingRules) -> Void = { _ in }
    var status = 200
    var fields: KeyValuePairs<String, String>
    /// Nil where the transfer ends with the error.
    var disposition: BodyDisposition?
    var error: DownloadError.Code?
    /// Bytes that are there afterwards.
    var length = 0
    var remark: DownloadOutcome.Remark?
  }

  private static let rest: KeyValuePairs = ["Content-Range": "bytes 1000-4999/5000", "ETag": "\"v1\""]

  static let answers: [Answer] = [
    Answer(testDescription: "a file", fields: ["Content-Length": "5000"], disposition: .write),
    Answer(
      testDescription: "a large file of a server that knows ranges and the version",
      fields: ["Content-Length": "\(large)", "ETag": "\"v1\"", "Accept-Ranges": "bytes"], disposition: .splittable),
    Answer(
      testDescription: "the same where the user wants no segments", rules: { $0.splits = false },
      fields: ["Content-Length": "\(large)", "ETag": "\"v1\"", "Accept-Ranges": "bytes"], disposition: .write),
    Answer(
      testDescription: "a large file without ranges", fields: ["Content-Length": "\(large)", "ETag": "\"v1\""],
      disposition: .write),
    Answer(
      testDescription: "a large file whose version nothing names",
      fields: ["Content-Length": "\(large)", "ETag": "W/\"v1\"", "Accept-Ranges": "bytes"], disposition: .write),
    Answer(
      testDescription: "a small file with ranges",
      fields: ["Content-Length": "5000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"], disposition: .write),
    Answer(
      testDescription: "a coding that was not asked for", fields: ["Content-Encoding": "gzip"],
      disposition: .decode, remark: .decoded),
    Answer(
      testDescription: "a coding beside identity", fields: ["Content-Encoding": "gzip, identity"],
      disposition: .decode, remark: .decoded),
    Answer(
      testDescription: "a coding that the name has, too", address: "http://host/x.gz",
      fields: ["Content-Encoding": "gzip"], disposition: .write, remark: .stillCoded),
    Answer(testDescription: "no content", status: 204, fields: [:], disposition: .write, remark: .noContent),
    Answer(
      testDescription: "longer than the user allows", rules: { $0.maxSize = 4999 },
      fields: ["Content-Length": "5000"], error: .tooLarge),
    Answer(
      testDescription: "as long as the user allows", rules: { $0.maxSize = 5000 },
      fields: ["Content-Length": "5000"], disposition: .write),
    Answer(
      testDescription: "no checksum, where one is required", rules: { $0.requiredProof = .digest },
      fields: ["Content-Length": "5000"], disposition: .drain),
    Answer(
      testDescription: "a checksum, where one is required", rules: { $0.requiredProof = .digest },
      fields: ["Repr-Digest": "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"], disposition: .write),
    Answer(
      testDescription: "a file whose name is taken and skipped", address: "http://host/standing", policy: .skip,
      fields: ["Content-Length": "5000"], disposition: .drain),
    Answer(
      testDescription: "a file whose name is taken and numbered", address: "http://host/standing",
      fields: ["Content-Length": "5000"], disposition: .write),
    Answer(
      testDescription: "the rest", held: 1000, status: 206, fields: rest, disposition: .write, length: 1000,
      remark: nil),
    Answer(
      testDescription: "the rest of another version", held: 1000, status: 206,
      fields: ["Content-Range": "bytes 1000-4999/5000", "ETag": "\"v2\""], error: .range),
    Answer(
      testDescription: "the rest of a file that is too long", held: 1000, rules: { $0.maxSize = 4999 }, status: 206,
      fields: rest, error: .tooLarge, length: 1000),
    Answer(
      testDescription: "another version whole", held: 1000, fields: ["Content-Length": "5000", "ETag": "\"v2\""],
      disposition: .write),
    Answer(
      testDescription: "the same version whole, in spite of If-Range", held: 1000,
      fields: ["Content-Length": "5000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"], error: .range, length: 1000),
    Answer(
      testDescription: "nothing behind the last byte", held: 5000, status: 416,
      fields: ["Content-Range": "bytes */5000"], disposition: .drain, length: 5000),
    Answer(testDescription: "404", held: 1000, status: 404, fields: [:], disposition: .drain, length: 1000),
    Answer(testDescription: "503", held: 1000, status: 503, fields: [:], error: .status, length: 1000),
  ]

  private static func leave(_ count: Int, _ bench: Bench, _ address: String) throws {
    let file = try bench.file(address)
    _ = try FakeAnswer.ok(body).cut(after: count).give(to: file)
    try file.abandon()
  }

  @Test(arguments: answers) func answersAreJudged(row: Answer) throws {
    let bench = try Bench()
    try bench.folder.write([1], to: "standing")
    if row.held > 0 { try Self.leave(row.held, bench, row.address) }
    let plan = try bench.plan(row.address, policy: row.policy, rules: row.rules)
    var receiver = FileReceiver(plan, TransferMeter(), nil, resumes: true)
    _ = try receiver.nextTransfer(for: Segment.first)
    #expect(receiver.resumed == Int64(row.held))
    var (disposition, code): (BodyDisposition?, DownloadError.Code?)
    do throws(DownloadError) {
      disposition = try receiver.accept(ResponseHead(status: row.status, fields: row.fields), for: Segment.first)
    } catch { code = error.code }
    #expect(disposition == row.disposition)
    #expect(code == row.error)
    #expect(receiver.length == Int64(row.length))
    #expect(receiver.resumed == (row.length == row.held ? Int64(row.held) : 0))
    #expect(receiver.remark == row.remark)
    try receiver.discard()
  }

  struct Piece: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var fields: KeyValuePairs<String, String> = [:]
    var maxSize: Int64?
    /// What comes, in bytes; the last is judged.
    var pieces: [Int]
    /// Nil where the transfer ends with the error.
    var demand: SinkDemand?
    var error: DownloadError.Code?
    /// Bytes that are there afterwards.
    var length: Int
  }

  static let pieces: [Piece] = [
    Piece(testDescription: "of an unknown length", pieces: [3000, 2000], demand: .more, length: 5000),
    Piece(testDescription: "the last", fields: ["Content-Length": "5000"], pieces: [5000], demand: .more, length: 5000),
    Piece(
      testDescription: "more than was said", fields: ["Content-Length": "5000"], pieces: [4000, 2000],
      error: .longBody, length: 5000),
    Piece(
      testDescription: "more than is allowed, of an unknown length", maxSize: 4000, pieces: [4000, 1],
      error: .tooLarge, length: 0),
    Piece(
      testDescription: "as much as is allowed, of an unknown length", maxSize: 4000, pieces: [3999, 1], demand: .more,
      length: 4000),
  ]

  @Test(arguments: pieces) func bytesAreTaken(row: Piece) throws {
    let bench = try Bench()
    let meter = TransferMeter()
    var receiver = FileReceiver(try bench.plan(rules: { $0.maxSize = row.maxSize }), meter, nil, resumes: true)
    _ = try receiver.nextTransfer(for: Segment.first)
    _ = try receiver.accept(ResponseHead(status: 200, fields: row.fields), for: Segment.first)
    var (demand, code): (SinkDemand?, DownloadError.Code?)
    for piece in row.pieces {
      do throws(DownloadError) { demand = try write(pattern(piece), to: Segment.first, &receiver) } catch {
        (demand, code) = (nil, error.code)
      }
    }
    #expect(demand == row.demand)
    #expect(code == row.error)
    #expect(receiver.length == Int64(row.length))
    #expect(receiver.transferred == Int64(row.pieces.reduce(0, +)), "what came counts, also what was of no use")
    try receiver.discard()
  }

  private func write(
    _ bytes: [UInt8], to id: Int, _ receiver: inout FileReceiver
  ) throws(DownloadError) -> SinkDemand {
    try bytes.span.bytes.withUnsafeBytes { bytes throws(DownloadError) in try receiver.write(bytes, to: id) }
  }

  /// A second transfer takes the end: the first continues up to it, its surplus is not counted, and neither ends the file.
  @Test func twoTransfersShareTheFile() throws {
    let bench = try Bench()
    let meter = TransferMeter()
    var receiver = FileReceiver(try bench.plan(), meter, nil, resumes: true)
    let fields: KeyValuePairs = ["Content-Length": "\(Self.large)", "ETag": "\"v1\"", "Accept-Ranges": "bytes"]
    _ = try receiver.nextTransfer(for: Segment.first)
    _ = try receiver.accept(ResponseHead(status: 200, fields: fields), for: Segment.first)
    let (whole, half) = (pattern(Int(Self.large)), Int(Self.large) / 2)
    let early = try receiver.takeSegment(of: Segment.first, from: Int64(half))
    #expect(early == nil, "the start must be there first")
    var demand = try write(Array(whole[..<1000]), to: Segment.first, &receiver)
    #expect(demand == .more)
    let taken = try receiver.takeSegment(of: Segment.first, from: Int64(half))
    let id = try #require(taken)
    let asked = try receiver.nextTransfer(for: id)
    let request = try #require(asked)
    #expect(request.rangeStart == Int64(half) && request.headerLines == ["If-Range: \"v1\""])
    let range = "bytes \(half)-\(Self.large - 1)/\(Self.large)"
    let head = ResponseHead(status: 206, fields: ["Content-Range": range, "ETag": "\"v1\""])
    let disposition = try receiver.accept(head, for: id)
    #expect(disposition == .write)
    demand = try write(Array(whole[half..<half + 1000]), to: id, &receiver)
    #expect(demand == .more)
    demand = try write(Array(whole[1000..<half + 500]), to: Segment.first, &receiver)
    #expect(demand == .enough)
    #expect(meter.position == Int64(half + 1000), "the surplus is the other's")
    #expect(receiver.openSegments.map(\.position) == [Int64(half + 1000)])
    let receipt = TransferReceipt(status: 206, bodyBytes: 0, proof: .length)
    var isWhole = try receiver.finish(receipt, of: id)
    #expect(!isWhole)
    demand = try write(Array(whole[(half + 1000)...]), to: id, &receiver)
    #expect(demand == .more)
    isWhole = try receiver.finish(receipt, of: id)
    #expect(isWhole)
    try receiver.release(id)
    isWhole = try receiver.finish(receipt, of: Segment.first)
    #expect(isWhole)
    #expect(receiver.phase == .finished(.whole(.length)))
    let named = try receiver.take("x", replacing: false)
    #expect(named != nil)
    #expect(try bench.folder.read("x") == whole)
    #expect(receiver.phase == .closed)
    #expect(throws: DownloadError.cancelled) { _ = try receiver.nextTransfer(for: Segment.first) }
  }

  /// An answer to a further segment that is not its range ends splitting, and takes nothing from the file.
  @Test func anAnswerThatIsNoRangeEndsSplitting() throws {
    let bench = try Bench()
    var receiver = FileReceiver(try bench.plan(), TransferMeter(), nil, resumes: true)
    let fields: KeyValuePairs = ["Content-Length": "\(Self.large)", "ETag": "\"v1\"", "Accept-Ranges": "bytes"]
    _ = try receiver.nextTransfer(for: Segment.first)
    _ = try receiver.accept(ResponseHead(status: 200, fields: fields), for: Segment.first)
    _ = try write(pattern(1000), to: Segment.first, &receiver)
    let taken = try receiver.takeSegment(of: Segment.first, from: 2 << 20)
    let id = try #require(taken)
    _ = try receiver.nextTransfer(for: id)
    let error = #expect(throws: DownloadError.self) {
      _ = try receiver.accept(ResponseHead(status: 200, fields: fields), for: id)
    }
    #expect(error?.code == .range && error?.isTransient == false)
    try receiver.release(id)
    let again = try receiver.takeSegment(of: Segment.first, from: 2 << 20)
    #expect(again == nil)
    #expect(receiver.length == 1000)
    try receiver.abandon()
    #expect(try bench.folder.names() == ["x.part", "x.part.json"])
  }

  struct Left: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var fields: KeyValuePairs<String, String>
    var count: Int
    var names: [String]
  }

  static let left: [Left] = [
    Left(testDescription: "nothing came", fields: ["Content-Length": "5000", "ETag": "\"v1\""], count: 0, names: []),
    Left(
      testDescription: "it can be resumed", fields: ["Content-Length": "5000", "ETag": "\"v1\""], count: 100,
      names: ["x.part", "x.part.json"]),
    Left(testDescription: "nothing names its version", fields: ["Content-Length": "5000"], count: 100, names: []),
    Left(
      testDescription: "it was decoded", fields: ["Content-Encoding": "gzip", "ETag": "\"v1\""], count: 100, names: []),
  ]

  @Test(arguments: left) func whatStaysBehind(row: Left) throws {
    let bench = try Bench()
    let meter = TransferMeter()
    var receiver = FileReceiver(try bench.plan(), meter, nil, resumes: true)
    _ = try receiver.nextTransfer(for: Segment.first)
    _ = try receiver.accept(ResponseHead(status: 200, fields: row.fields), for: Segment.first)
    if row.count > 0 { _ = try write(pattern(row.count), to: Segment.first, &receiver) }
    try receiver.abandon()
    #expect(try bench.folder.names() == row.names)
    #expect(meter.kept == (row.names.isEmpty ? 0 : Int64(row.count)))
    #expect(receiver.phase == .closed)
  }

  /// Wrong bytes are asked for once more, past the caches and without what was held.
  @Test func wrongBytesAreAskedForAgain() throws {
    let bench = try Bench()
    try Self.leave(1000, bench, "http://host/x")
    var receiver = FileReceiver(try bench.plan(), TransferMeter(), nil, resumes: true)
    let first = try receiver.nextTransfer(for: Segment.first)
    #expect(first?.rangeStart == 1000)
    try receiver.startAgainAfterWrongBytes()
    let second = try receiver.nextTransfer(for: Segment.first)
    let request = try #require(second)
    #expect(request.rangeStart == nil && request.headerLines == ["Cache-Control: no-cache"])
    #expect(receiver.length == 0 && receiver.resumed == 0 && receiver.doubted == nil)
    try receiver.discard()
  }
}
