import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("Mirrors and digests that an answer names (RFC 6249)")
struct NamedMirrorsTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 81)
  private static let wrong = SplitMix64.bytes(count: 3 << 20, seed: 82)

  private static func digest(_ bytes: [UInt8] = body) -> String {
    "Digest: SHA-256=\(Data(ContentHasher.digest(of: bytes).bytes).base64EncodedString())"
  }

  private static func link(_ url: String, _ priority: Int = 1) -> String {
    "Link: <\(url)>; rel=duplicate; pri=\(priority); geo=de"
  }

  private func withOrigins(_ body: (FaultyOrigin, FaultyOrigin, Workplace) async throws -> Void) async throws {
    let (owner, mirror) = (try FaultyOrigin(), try FaultyOrigin())
    defer { owner.stop() }
    defer { mirror.stop() }
    try await body(owner, mirror, try Workplace())
  }

  private func sent(_ origin: FaultyOrigin) -> Int { origin.record.bodyBytesSent.values.reduce(0, +) }

  /// What a mirror manager sends where the best mirror is down. Without a digest its links must not be used.
  @Test(arguments: [true, false])
  func behindARedirect(hasDigest: Bool) async throws {
    try await withOrigins { owner, mirror, place in
      let gone = try FaultyOrigin()
      let dead = gone.url("/f")
      gone.stop()
      let lines = ["Location: \(dead)", Self.link(mirror.url("/second"), 2), Self.link(mirror.url("/first"))]
      owner.route("/f", .status(302, headers: lines + (hasDigest ? [Self.digest()] : [])))
      mirror.route("/first", .status(404))
      mirror.route("/second", .file(Self.body))
      let run = try await place.dlm("get", owner.url("/f"), "--retries", "0", "-v", "-H", "X-Own: 1")
      #expect((run.status == 0) == hasDigest, "\(run.errorText)")
      #expect(mirror.log.map(\.path) == (hasDigest ? ["/first", "/second"] : []))
      #expect(mirror.log.allSatisfy { $0.headers["x-own"] == nil })
      if hasDigest {
        #expect(run.errorText.contains("now from \(mirror.url("/second"))"), "\(run.errorText)")
        #expect(try place.names() == ["f"] && place.file("f") == Self.body)
      }
    }
  }

  /// The mirror goes on with the owner's part, as the digest proves the whole.
  @Test func theOwnerDiesInTheMiddle() async throws {
    try await withOrigins { owner, mirror, place in
      let lines = [Self.link(mirror.url("/f")), Self.digest()]
      owner.route("/f", .file(Self.body, FileOptions(ending: .reset(after: 2 << 20), headers: lines)))
      mirror.route("/f", .file(Self.body, FileOptions(etag: "\"other\"")))
      let run = try await place.dlm("get", owner.url("/f"), "--retries", "0", "-s", "1")
      #expect(run.status == 0 && run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
      #expect(try place.names() == ["f"] && place.file("f") == Self.body)
      #expect(sent(mirror) == 1 << 20)
    }
  }

  @Test(arguments: [true, false])
  func oneThatLies(last: Bool) async throws {
    try await withOrigins { owner, mirror, place in
      let lines = [Self.link(mirror.url("/b")), Self.digest(), "Location: \(mirror.url("/a"))"]
      owner.route("/f", .status(302, headers: lines))
      mirror.route("/a", .file(Self.wrong))
      mirror.route("/b", .file(last ? Self.wrong : Self.body))
      let run = try await place.dlm("get", owner.url("/f"), "--retries", "0")
      #expect(run.status == (last ? 1 : 0), "\(run.errorText)")
      #expect(try place.names() == [last ? "f.rejected" : "f"])
    }
  }

  /// What a mirror sent is no answer of the owner's: neither its validator nor its freshness counts, and the owner goes
  /// on with its part only under a digest (HTTP rules 47 and 48).
  @Test(arguments: [true, false])
  func theOwnerIsBack(mirrorDies: Bool) async throws {
    try await withOrigins { owner, mirror, place in
      let lines = [Self.link(mirror.url("/f")), Self.digest()]
      owner.route(
        "/f", .status(302, headers: lines + ["Location: \(mirror.url("/none"))"]),
        .file(Self.body, FileOptions(etag: "\"v1\"")))
      mirror.route("/none", .status(404))
      let ending = mirrorDies ? FileOptions.Ending.reset(after: 2 << 20) : .whole
      mirror.route(
        "/f", .file(Self.body, FileOptions(etag: "\"v1\"", ending: ending, headers: ["Cache-Control: max-age=600"])))
      let run = try await place.dlm("get", owner.url("/f"), "--retries", "0", "-s", "1")
      #expect((run.status == 0) == !mirrorDies, "\(run.errorText)")
      #expect(try await place.dlm("get", owner.url("/f"), "-s", "1").status == 0)
      #expect(try place.names() == ["f"] && place.file("f") == Self.body)
      let last = owner.log.last?.headers
      #expect(owner.log.count == 2 && last?["if-none-match"] == nil && last?["range"] == nil)
      #expect(sent(owner) == Self.body.count)
    }
  }

  /// `Digest` is of the representation, as `Repr-Digest` is: of the coded bytes, and of the whole in a 206 too.
  @Test(arguments: ["SHA-256", "SHA-512", "SHA", "MD5"])
  func theLegacyDigest(name: String) async throws {
    let algorithms: [String: ContentDigest.Algorithm] = ["SHA-512": .sha512, "SHA": .sha1, "MD5": .md5]
    let sum = Data(ContentHasher.digest(algorithms[name] ?? .sha256, of: Self.body).bytes).base64EncodedString()
    let lines = ["Digest: \(name)=\(sum),unixsum=30637"]
    try await withOrigins { owner, _, place in
      owner.route(
        "/f", .file(Self.body, FileOptions(etag: "\"1\"", ending: .reset(after: 2 << 20), headers: lines)),
        .file(Self.body, FileOptions(etag: "\"1\"", headers: lines)))
      owner.route("/wrong", .file(Self.wrong, FileOptions(headers: lines)))
      owner.route("/coded", .file(CodedSample.gzip, FileOptions(headers: lines + ["Content-Encoding: gzip"])))
      let paths = ["/f", "/wrong", "/coded"].map { owner.url($0) }
      let run = try await place.dlm("get", paths[0], paths[1], paths[2], "-s", "1")
      #expect(run.status == 1 && run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
      #expect(try place.names() == ["coded", "f", "wrong.rejected"])
      #expect(owner.record.requests(to: "/f").last?.headers["range"] != nil)
    }
  }
}
