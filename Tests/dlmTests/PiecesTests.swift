import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Piece hashes of a Metalink: a bad piece is fetched again alone")
struct PiecesTests {
  private static let size = 1 << 18
  /// The last piece is shorter.
  private static let body = SplitMix64.bytes(count: 11 * size + 1000, seed: 81)

  /// With other bytes in some pieces.
  private static func lie(_ pieces: [Int]) -> [UInt8] {
    var lie = body
    for piece in pieces { lie[piece * size + 7] ^= 1 }
    return lie
  }

  private static func length(_ pieces: [Int]) -> Int {
    pieces.reduce(0) { $0 + min(size, body.count - $1 * size) }
  }

  private static func metalink(
    _ addresses: [String], _ algorithm: ContentDigest.Algorithm = .sha256, whole: String = ""
  ) -> [UInt8] {
    let hashes = stride(from: 0, to: body.count, by: size).map { start in
      "<hash>\(ContentHasher.digest(algorithm, of: Array(body[start..<min(start + size, body.count)])).hex)</hash>"
    }
    return Array(
      """
      <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="f"><size>\(body.count)</size>\(whole)
      <pieces length="\(size)" type="\(algorithm)">\(hashes.joined())</pieces>
      \(addresses.enumerated().map { "<url priority='\($0 + 1)'>\($1)</url>" }.joined())</file></metalink>
      """.utf8)
  }

  private func withOrigins(
    _ count: Int, _ body: ([FaultyOrigin], Workplace) async throws -> Void
  ) async throws {
    let origins = try (0..<count).map { _ in try FaultyOrigin() }
    defer { for origin in origins { origin.stop() } }
    try await body(origins, try Workplace())
  }

  private func sent(_ origin: FaultyOrigin) -> Int { origin.record.bodyBytesSent.values.reduce(0, +) }

  @Test(arguments: [[0], [3], [11], [0, 5, 11], [4, 5], [0, 1]], [nil, "\"v1\""])
  func anOriginLiesOnce(pieces: [Int], tag: String?) async throws {
    try await withOrigins(1) { origins, place in
      let options = FileOptions(etag: tag, lastModified: nil)
      origins[0].route("/x", .file(Self.lie(pieces), options), .file(Self.body, options))
      try place.folder.write(Self.metalink([origins[0].url("/x")]), to: "work/f.meta4")
      let run = try await place.dlm("get", "f.meta4", "-s", "1", "--require-proof", "digest")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "f.meta4"] && place.file("f") == Self.body)
      #expect(sent(origins[0]) == Self.body.count + Self.length(pieces), "\(sent(origins[0]))")
      let again = try await place.dlm("get", "f.meta4", "--require-proof", "digest")
      #expect(again.status == 0, "\(again.errorText)")
    }
  }

  /// In several parts, over a server without ranges, without a length, and through a coding: it comes right.
  @Test(arguments: [
    ("-s8", FileOptions()), ("-s1", FileOptions(acceptRanges: nil, ranges: .ignored)),
    ("-s1", FileOptions(framing: .chunked(size: 10_000))), ("-s1", FileOptions(ranges: .dislikesIfRange)),
    ("-s1", FileOptions(ranges: .capped(at: 100_000, completeLength: "*"))),
  ]) func otherServers(segments: String, options: FileOptions) async throws {
    try await withOrigins(1) { origins, place in
      origins[0].route("/x", .file(Self.lie([0, 7]), options), .file(Self.body, options))
      try place.folder.write(Self.metalink([origins[0].url("/x")]), to: "work/f.meta4")
      let run = try await place.dlm("get", "f.meta4", segments)
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "f.meta4"] && place.file("f") == Self.body)
    }
  }

  /// Whatever is wrong with the whole, its own digest included.
  @Test(arguments: [ContentDigest.Algorithm.sha1, .sha256], [false, true])
  func oneMirrorLiesForEver(algorithm: ContentDigest.Algorithm, hasSum: Bool) async throws {
    try await withOrigins(3) { origins, place in
      origins[0].route("/x", .file(Self.lie([3, 4])))
      origins[1].route("/x", .file(Self.lie([4, 9]), FileOptions(etag: "\"other\"")))
      origins[2].route("/x", .file(Self.body, FileOptions(etag: nil, lastModified: nil)))
      let sum = hasSum ? "<hash type='sha-256'>\(ContentDigest.of(Self.body))</hash>" : ""
      try place.folder.write(
        Self.metalink(origins.map { $0.url("/x") }, algorithm, whole: sum), to: "work/f.meta4")
      let run = try await place.dlm("get", "f.meta4", "-s", "1", "-v")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "f.meta4"] && place.file("f") == Self.body)
      #expect(
        origins.map(sent) == [Self.body.count, Self.length([3, 4]), Self.length([4])], "\(origins.map(sent))")
      #expect(run.errorText.contains("now from \(origins[2].url("/x"))"), "\(run.errorText)")
    }
  }

  /// The last one is asked once more, past caches.
  @Test(arguments: [1, 2]) func allLieForEver(count: Int) async throws {
    try await withOrigins(count) { origins, place in
      for origin in origins { origin.route("/x", .file(Self.lie([2, 11]))) }
      try place.folder.write(Self.metalink(origins.map { $0.url("/x") }, .sha1), to: "work/f.meta4")
      let run = try await place.dlm("get", "f.meta4", "-s", "1", "--progress", "none")
      let text = run.errorText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(run.status == 1 && text.contains("saved as f.rejected"), "\(run.errorText)")
      #expect(
        count > 1 || text.contains("piece 3 of 12 (bytes 524288 to 786431) is wrong by its sha1, and 1 more"),
        "\(run.errorText)")
      #expect(try place.names() == ["f.meta4", "f.rejected"])
      let again = Self.length([2, 11])
      #expect(
        origins.map(sent) == (count == 1 ? [Self.body.count + again] : [Self.body.count, 2 * again]),
        "\(origins.map(sent))")
      #expect(origins[count - 1].log.last?.headers["cache-control"] == "no-cache")
    }
  }

  /// Another length than the list's is no file of these pieces, whatever the server's own digest says.
  @Test func oneThatIsCutShort() async throws {
    try await withOrigins(2) { origins, place in
      let short = Array(Self.body.prefix(10 * Self.size))
      let own = ["Repr-Digest: sha-256=:\(Data(ContentHasher.digest(of: short).bytes).base64EncodedString()):"]
      origins[0].route("/x", .file(short, FileOptions(headers: own)))
      origins[1].route("/x", .file(Self.body))
      try place.folder.write(Self.metalink(origins.map { $0.url("/x") }), to: "work/f.meta4")
      let run = try await place.dlm("get", "f.meta4", "-s", "1")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "f.meta4"] && place.file("f") == Self.body)
    }
  }

  /// While the bad piece comes again, the first one or another.
  @Test(arguments: [[0], [6], [0, 11]], [true, false]) func killed(pieces: [Int], knowsPieces: Bool) async throws {
    try await withOrigins(1) { origins, place in
      let stalls = FileOptions(ending: .stall(after: 1000))
      origins[0].route("/x", .file(Self.lie(pieces)), .file(Self.body, stalls), .file(Self.body))
      try place.folder.write(Self.metalink([origins[0].url("/x")]), to: "work/f.meta4")
      let run = try place.start(["get", "f.meta4", "-s", "1"])
      try await origins[0].wait(path: "/x", bodyBytesSent: Self.body.count + 1000)
      run.send(SIGKILL)
      _ = try await run.waitForExit()
      try await origins[0].wait(for: "the killed run's connections to be gone") { $0.connectionsOpen == 0 }
      #expect(try place.names() == ["f.meta4", "f.part", "f.part.json"])
      // Nor does a run that knows nothing of the pieces take what is missing for what is there.
      let list = knowsPieces ? "f.meta4" : try place.list([origins[0].url("/x") + "\tout=f"], name: "f.meta4")
      let again = try await place.dlm("get", list, "-s", "1")
      #expect(again.status == 0, "\(again.errorText)")
      #expect(try place.names() == ["f", "f.meta4"] && place.file("f") == Self.body)
      let least = Self.body.count + 1000 + Self.length(pieces)
      #expect(knowsPieces ? sent(origins[0]) == least : sent(origins[0]) >= least, "\(sent(origins[0]))")
    }
  }
}
