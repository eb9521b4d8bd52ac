import DownloadModel
import Testing

@testable import DownloadCaching

@Suite("A file that several transfers fill")
struct FilePartsTests {
  @Test func spansAreTakenAndGivenBack() throws {
    var parts = FileParts()
    // The trunk runs; its second half is taken.
    #expect(parts.take(0, from: 50, trunk: 10, trunkRuns: true, total: 100) == 1)
    #expect(
      parts.open(trunk: 10, trunkRuns: true, total: 100) == [
        OpenSpan(id: 0, position: 10, end: 50, isTaken: true),
        OpenSpan(id: 1, position: 50, end: 100, isTaken: true),
      ])
    // Not what was fetched meanwhile, nor past the end.
    #expect(parts.take(0, from: 10, trunk: 10, trunkRuns: true, total: 100) == nil)
    #expect(parts.take(0, from: 50, trunk: 10, trunkRuns: true, total: 100) == nil)
    parts.advance(1, to: 60)
    #expect(parts.take(1, from: 60, trunk: 10, trunkRuns: true, total: 100) == nil)
    #expect(parts.take(1, from: 80, trunk: 10, trunkRuns: true, total: 100) == 2)
    #expect(parts[1]?.end == 80)
    // What is released is taken whole, from where it stands.
    parts.release(1)
    #expect(parts.take(1, from: 70, trunk: 10, trunkRuns: true, total: 100) == nil)
    #expect(parts.take(1, from: 60, trunk: 10, trunkRuns: true, total: 100) == 1)
    #expect(parts.take(9, from: 60, trunk: 10, trunkRuns: true, total: 100) == nil)
    // The trunk comes to parts that have ended, and to the hole behind them.
    parts.advance(1, to: 75)
    parts.release(1)
    #expect(parts.absorb(trunk: 40) == 40)
    #expect(parts.absorb(trunk: 50) == 75)
    #expect(
      parts.open(trunk: 75, trunkRuns: false, total: 100) == [
        OpenSpan(id: 0, position: 75, end: 80, isTaken: false),
        OpenSpan(id: 2, position: 80, end: 100, isTaken: true),
      ])
  }

  /// The trunk was broken off at the start of a part that a cache had not answered yet; what it then asked for was answered
  /// with the whole, and it began anew, again and again until the cache had the file.
  @Test func whoHasBroughtNothingIsOvertaken() throws {
    var parts = FileParts()
    #expect(parts.take(0, from: 50, trunk: 10, trunkRuns: true, total: 100) == 1)
    #expect(parts.take(1, from: 75, trunk: 10, trunkRuns: true, total: 100) == 2)
    parts.advance(2, to: 80)
    parts.overtake(2)
    #expect(parts.trunkEnd(total: 100) == 50, "it is not the next one")
    parts.overtake(1)
    #expect(parts[1] == nil)
    #expect(parts.trunkEnd(total: 100) == 75)
    parts.overtake(2)
    #expect(parts.trunkEnd(total: 100) == 75, "it has brought something")
    // Whoever was overtaken ends.
    parts.advance(1, to: 60)
    parts.release(1)
    #expect(parts.length == 5)
  }

  @Test func whatWasAskedForIsKnown() throws {
    var parts = FileParts()
    #expect(parts.take(0, from: 50, trunk: 10, trunkRuns: true, total: 100) == 1)
    parts.ask(1, upTo: 70)
    #expect(parts.open(trunk: 10, trunkRuns: true, total: 100).map(\.asked) == [10, 70])
    parts.advance(1, to: 75)
    #expect(parts.open(trunk: 10, trunkRuns: true, total: 100).map(\.asked) == [10, 75])
    parts.release(1)
    #expect(parts.open(trunk: 10, trunkRuns: true, total: 100).map(\.asked) == [10, 75])
  }

  @Test func recordsNameWhatIsThere() throws {
    var parts = FileParts()
    #expect(parts.take(0, from: 50, trunk: 10, trunkRuns: true, total: 100) == 1)
    #expect(parts.done(trunk: 10) == [0...9])
    parts.advance(1, to: 60)
    #expect(parts.done(trunk: 10) == [0...9, 50...59])
    #expect(parts.done(trunk: 50) == [0...59], "what lies together is one")
    let again = try #require(FileParts(done: [0...9, 50...59], total: 100))
    #expect(
      again.open(trunk: 10, trunkRuns: false, total: 100) == [
        OpenSpan(id: 0, position: 10, end: 50, isTaken: false),
        OpenSpan(id: 1, position: 60, end: 100, isTaken: false),
      ])
  }

  private static let badRecords: [[[Int64]]] = [
    [[0, 9], [5, 20]], [[0, 100]], [[50, 59], [0, 9]], [[10, 59]], [[0]], [[9, 0]], [[0, 9], [50, 80]],
  ]

  /// A record that was tampered with, or is of another file, vouches for nothing.
  @Test(arguments: badRecords)
  func badRecordsVouchForNothing(done: [[Int64]]) {
    let held = HeldPart(length: 10, validator: Validator(etag: "\"v1\""), total: 100)
    var record = PartialRecord(
      owner: PartialOwner(address: "http://host/x", scope: ""), held: held, name: "x")
    record.done = done
    // The part is 70 bytes long, the file 100.
    #expect(record.parts(length: 70) == nil)
    #expect(record.held(length: 70).length == 0)
    record.done = [[0, 9], [50, 59]]
    #expect(record.parts(length: 70)?.length == 10)
    #expect(record.held(length: 70).length == 10)
  }

  /// Transfers begin, bring something, are cut, and end in any order; the process dies and another goes on. Whatever
  /// happens, the file is right in the end, and what a record vouched for is never fetched again.
  @Test(arguments: 0..<24, [true, false])
  func anyOrder(seed: Int, usesUnnamedFiles: Bool) throws {
    var random = SplitMix(UInt64(seed))
    let size = random.number(2_000_000..<5_000_000)
    let server = PartServer(body: pattern(size, seed: UInt8(seed)))
    var bench = try Bench(usesUnnamedFiles: usesUnnamedFiles)
    let folder = bench.folder
    for _ in 0..<40 {
      var life = try PartLife(file: bench.file(), server: server)
      if try life.run(&random) {
        #expect(try folder.names() == ["x"])
        #expect(try folder.bytes("x") == server.body)
        return
      }
      // Killed: nothing is said to the file any more.
      bench = try bench.anotherProcess(usesUnnamedFiles: usesUnnamedFiles)
    }
    Issue.record("not whole after 40 lives")
  }
}

private struct PartServer {
  let body: [UInt8]

  func head(_ request: TransferRequest) -> ResponseHead {
    guard let start = request.rangeStart else {
      return ResponseHead(
        status: 200, fields: ["Content-Length": "\(body.count)", "ETag": "\"v1\"", "Accept-Ranges": "bytes"])
    }
    let end = Int(request.rangeEnd ?? Int64(body.count))
    return ResponseHead(
      status: 206,
      fields: [
        "Content-Range": "bytes \(start)-\(end - 1)/\(body.count)", "ETag": "\"v1\"",
        "Content-Length": "\(end - Int(start))",
      ])
  }
}

/// One process's work on the file.
private struct PartLife {
  let file: PartialFile
  let server: PartServer
  private var streams: [Stream] = []

  private struct Stream {
    let target: any DownloadTarget
    var next: Int
    let end: Int
  }

  init(file: PartialFile, server: PartServer) throws {
    (self.file, self.server) = (file, server)
    try open(file)
  }

  private mutating func open(_ target: any DownloadTarget) throws(DownloadError) {
    let request = try target.nextTransfer()
    _ = try target.accept(server.head(request))
    streams.append(
      Stream(
        target: target, next: Int(request.rangeStart ?? 0),
        end: Int(request.rangeEnd ?? Int64(server.body.count))))
  }

  /// - Returns: false if it was killed.
  mutating func run(_ random: inout SplitMix) throws -> Bool {
    var dice = random.number(0..<100)
    while dice > 0 {
      if dice < 8 {
        try split(&random)
      } else if dice < 10, streams.count > 1 {
        // Lost on the way.
        try file.release(streams.remove(at: random.number(0..<streams.count)).target)
      } else if !streams.isEmpty {
        try bring(random.number(0..<streams.count), random.number(1..<200_000))
      } else if try isWhole() {
        return true
      } else {
        try open(file)
      }
      dice = random.number(0..<100)
    }
    return false
  }

  private mutating func split(_ random: inout SplitMix) throws {
    let spans = file.openSpans.filter { $0.length > 1 }
    guard streams.count < 6, !spans.isEmpty else { return }
    let span = spans[random.number(0..<spans.count)]
    var offset = span.position
    if span.isTaken { offset += Int64(random.number(1..<Int(span.length))) }
    guard let taken = try file.takePart(of: span.id, from: offset) else { return }
    try open(taken.target)
  }

  private mutating func bring(_ index: Int, _ count: Int) throws {
    let target = streams[index].target
    if try !send(index, upTo: min(streams[index].end, streams[index].next + count)) { return }
    streams.remove(at: index)
    try file.release(target)
  }

  /// - Returns: whether the stream has ended.
  private mutating func send(_ index: Int, upTo end: Int) throws -> Bool {
    let stream = streams[index]
    do throws(DownloadError) {
      var start = stream.next
      while start < end {
        let next = min(end, start + 16_384)
        try Answer.write(Array(server.body[start..<next]), to: stream.target)
        start = next
      }
      streams[index].next = end
      if end < stream.end { return false }
      _ = try stream.target.isWhole(after: receipt)
    } catch {
      // `.enough`: another has the rest.
      if error.code != .enough { throw error }
    }
    return true
  }

  private var receipt: TransferReceipt { TransferReceipt(status: 206, bodyBytes: 0, framing: .length) }

  private func isWhole() throws -> Bool {
    guard file.openSpans.isEmpty else { return false }
    _ = try file.commit(receipt)
    return true
  }
}

/// SplitMix64: the same numbers for the same seed.
private struct SplitMix {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

  mutating func number(_ range: Range<Int>) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return range.lowerBound + Int((mixed ^ (mixed >> 31)) % UInt64(range.count))
  }
}
