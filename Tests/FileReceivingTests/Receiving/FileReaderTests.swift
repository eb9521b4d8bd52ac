import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

@Suite("A reader that follows a file has right bytes only, each once, or the file fails")
struct FileReaderTests {
  private static let body = pattern(2_000_000)

  private static func plan(
    _ bench: Bench, _ reader: FileReader, checksum: ContentDigest? = nil, proof: Proof = .nothing
  ) throws -> DownloadPlan {
    try bench.plan(checksum: checksum) { rules in
      (rules.reader, rules.requiredProof) = (reader, proof)
    }
  }

  private static func all(_ reader: FileReader) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while case let next = try reader.next(), !next.isEmpty { bytes += next }
    return bytes
  }

  /// Also what a buffer would hold: a slow stream comes as it comes.
  @Test(arguments: [1, 100_000, 1_300_001])
  func itReadsWhatIsThere(count: Int) throws {
    let (bench, reader) = (try Bench(), FileReader())
    #expect(try reader.next().isEmpty)
    let file = FileDownload(try Self.plan(bench, reader))
    #expect(try reader.next().isEmpty)
    _ = try FakeAnswer.ok(Self.body).cut(after: count).give(to: file)
    #expect(try Self.all(reader) == Array(Self.body.prefix(count)))
    let (_, receipt) = try FakeAnswer.rest(Self.body, from: count).give(to: file)
    #expect(try Self.all(reader) == Array(Self.body.dropFirst(count)))
    _ = try file.commit(receipt)
    #expect(try reader.next().isEmpty)
    #expect(try bench.folder.read("x") == Self.body)
  }

  /// A host that refuses the rest for now: another download goes on with the part.
  @Test func anotherDownloadGoesOn() throws {
    let (bench, reader) = (try Bench(), FileReader())
    let first = FileDownload(try Self.plan(bench, reader))
    _ = try FakeAnswer.ok(Self.body).cut(after: 1_100_000).give(to: first)
    let start = try Self.all(reader)
    try first.abandon()
    #expect(try reader.next().isEmpty)
    let second = FileDownload(try Self.plan(bench, reader))
    #expect(try reader.next().isEmpty)
    _ = try FakeAnswer.rest(Self.body, from: 1_100_000).give(to: second)
    #expect(try start + Self.all(reader) == Self.body)
  }

  /// What was read cannot be taken back; what was not, can.
  @Test(arguments: [true, false], [true, false])
  func anotherVersion(isRead: Bool, byAnotherDownload: Bool) throws {
    let (bench, reader) = (try Bench(), FileReader())
    var file = FileDownload(try Self.plan(bench, reader))
    _ = try FakeAnswer.ok(Self.body).cut(after: 1_100_000).give(to: file)
    if isRead { #expect(try Self.all(reader).count == 1_100_000) }
    if byAnotherDownload {
      try file.abandon()
      file = FileDownload(try Self.plan(bench, reader))
    }
    let new = pattern(1_500_000, seed: 7)
    guard isRead else {
      _ = try FakeAnswer.ok(new, etag: "\"v2\"").give(to: file)
      #expect(try Self.all(reader) == new)
      return
    }
    let error = #expect(throws: DownloadError.self) {
      _ = try FakeAnswer.ok(new, etag: "\"v2\"").give(to: file)
    }
    #expect(error?.code == .conflict && error?.isTransient == false)
    #expect(try reader.next().isEmpty)
  }

  /// While the file waits for its next attempt, or asks. What was read then counts, too.
  @Test(arguments: [true, false], [true, false])
  func itReadsDuringTheWait(byAnotherDownload: Bool, hasChanged: Bool) throws {
    let (bench, reader) = (try Bench(), FileReader())
    var file = FileDownload(try Self.plan(bench, reader))
    _ = try FakeAnswer.ok(Self.body).cut(after: 1_100_000).give(to: file)
    if byAnotherDownload { try file.abandon() } else { _ = try file.nextTransfer() }
    let start = try Self.all(reader)
    #expect(start == Array(Self.body.prefix(1_100_000)))
    if byAnotherDownload { file = FileDownload(try Self.plan(bench, reader)) }
    guard hasChanged else {
      _ = try FakeAnswer.rest(Self.body, from: 1_100_000).give(to: file)
      #expect(try start + Self.all(reader) == Self.body)
      return
    }
    let error = #expect(throws: DownloadError.self) {
      _ = try FakeAnswer.ok(pattern(1_500_000, seed: 7), etag: "\"v2\"").give(to: file)
    }
    #expect(error?.code == .conflict)
    #expect(try reader.next().isEmpty)
  }

  /// Where only the whole file proves its bytes, none is read before.
  @Test func proofs() throws {
    let (bench, reader) = (try Bench(), FileReader())
    let digest = ContentHasher.digest(of: Self.body)
    let checked = FileDownload(try Self.plan(bench, reader, checksum: digest))
    _ = try FakeAnswer.ok(Self.body).give(to: checked)
    #expect(try reader.next().isEmpty)
    let told = FileDownload(try Self.plan(bench, reader, proof: .length))
    _ = try FakeAnswer.ok(Self.body).cut(after: 1000).give(to: told)
    #expect(try reader.next().count == 1000)
  }
}
