import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("A line's mirrors")
struct MirrorsTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 71)
  private static let wrong = SplitMix64.bytes(count: 3 << 20, seed: 72)
  private static let sum = "\tsha256=\(ContentDigest.of(body))"

  private func withOrigins(_ body: (FaultyOrigin, FaultyOrigin, Workplace) async throws -> Void) async throws {
    let (first, second) = (try FaultyOrigin(), try FaultyOrigin())
    defer { first.stop() }
    defer { second.stop() }
    try await body(first, second, try Workplace())
  }

  private func sent(_ origin: FaultyOrigin) -> Int { origin.record.bodyBytesSent.values.reduce(0, +) }

  /// What the first address does, and how often it is asked.
  static let failures: [(name: String, answer: OriginAnswer, arguments: [String])] = [
    ("not there", .status(404), []), ("in trouble", .status(500), ["--retries", "0"]),
    ("with retries left", .status(500), []), ("busy", .status(503), ["--retries", "0"]),
    ("away", .reset, ["--retries", "0"]), ("not HTTP", .raw(Array("hello\r\n\r\n".utf8)), ["--retries", "0"]),
    ("slow to refuse", .silence(), ["--retries", "0", "--stall-timeout", "1"]),
  ]

  @Test(arguments: failures.indices, DownloadMode.allCases)
  func theNextOneIsAsked(index: Int, mode: DownloadMode) async throws {
    try await withOrigins { first, second, place in
      first.route("/pub/f.bin", Self.failures[index].answer)
      second.route("/x/other?id=7", .file([1, 2, 3], FileOptions(headers: ["Cache-Control: max-age=600"])))
      _ = try place.list([first.url("/pub/f.bin") + "\tmirror=\(second.url("/x/other?id=7"))"])
      let run = try await place.dlm(
        "get", "urls.txt", "-v", "--failed", "failed", "-m", mode.rawValue, arguments: Self.failures[index].arguments)
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.errorText.contains("now from \(second.url("/x/other?id=7"))"), "\(run.errorText)")
      #expect(first.log.count == 1 && second.log.count == 1)
      // It is the first address's file, by name and in the index.
      #expect(try place.names() == ["f.bin", "failed", "urls.txt"] && place.file("f.bin") == [1, 2, 3])
      let again = try await place.dlm("get", "urls.txt", arguments: Self.failures[index].arguments)
      #expect(again.status == 0 && sent(second) == 3, "\(again.errorText)")
    }
  }

  @Test func oneThatCannotBeReached() async throws {
    try await withOrigins { first, second, place in
      let gone = first.url("/f")
      first.stop()
      second.route("/f", .file([1]))
      _ = try place.list((0..<8).map { "\(gone)\($0)\tmirror=\(second.url("/f"))" })
      let run = try await place.dlm("get", "urls.txt", "--retries", "1")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names().count == 9 && second.log.count == 8)
      // The first one goes on at once, whatever is left of its retries.
      _ = try place.list(["\(gone)/one\tmirror=\(second.url("/f"))"])
      let one = try await place.dlm("get", "urls.txt", "--events", "events", "--no-compare")
      #expect(one.status == 0, "\(one.errorText)")
      let retries = String(decoding: try place.file("events"), as: UTF8.self).split(separator: "\n")
        .filter { $0.contains(#""type":"retry""#) }
      #expect(retries.count == 1, "\(retries)")
    }
  }

  @Test func oneThatLies() async throws {
    try await withOrigins { first, second, place in
      first.route("/f", .file(Self.wrong))
      second.route("/f", .file(Self.body))
      _ = try place.list([first.url("/f") + "\tmirror=\(second.url("/f"))" + Self.sum])
      let run = try await place.dlm("get", "urls.txt")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "urls.txt"] && place.file("f") == Self.body)
      // Each was read once, and nothing of the first is used.
      #expect(first.log.count == 1 && sent(first) == Self.body.count && sent(second) == Self.body.count)
      #expect(try await place.dlm("get", "urls.txt").status == 0)
      #expect(first.log.count == 1 && second.log.count == 1)
    }
  }

  enum Proof: String, CaseIterable, Sendable { case checksum, tag, none, weakChecksum }

  @Test(arguments: Proof.allCases)
  func oneThatDiesInTheMiddle(proof: Proof) async throws {
    try await withOrigins { first, second, place in
      let there = 2 << 20
      first.route("/f", .file(Self.body, FileOptions(ending: .reset(after: there))))
      second.route("/f", .file(Self.body, FileOptions(etag: proof == .tag ? "\"v1\"" : "\"other\"")))
      let sum =
        switch proof {
        case .checksum: Self.sum
        case .weakChecksum: "\tmd5=\(ContentHasher.digest(.md5, of: Self.body).hex)"
        case .tag, .none: ""
        }
      _ = try place.list([first.url("/f") + "\tmirror=\(second.url("/f"))" + sum])
      let run = try await place.dlm("get", "urls.txt", "--retries", "0", "-s", "1")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "urls.txt"] && place.file("f") == Self.body)
      // A mirror can repeat the first one's strong tag over other bytes (HTTP rule 47).
      let isKept = proof == .checksum
      #expect(sent(second) == (isKept ? Self.body.count - there : Self.body.count), "\(sent(second))")
    }
  }

  /// Its first part came from an address that lies: only then it is fetched whole from one.
  @Test func oneThatLiesAndDies() async throws {
    try await withOrigins { first, second, place in
      first.route("/f", .file(Self.wrong, FileOptions(ending: .reset(after: 2 << 20))))
      second.route("/f", .file(Self.body))
      _ = try place.list([first.url("/f") + "\tmirror=\(second.url("/f"))" + Self.sum])
      let run = try await place.dlm("get", "urls.txt", "--retries", "0", "-s", "1")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f", "urls.txt"] && place.file("f") == Self.body)
      #expect(sent(second) == Self.body.count + (1 << 20))
    }
  }

  /// The part of one run goes on in the next, whichever address answers then.
  @Test func aPartGoesOnInTheNextRun() async throws {
    try await withOrigins { first, second, place in
      first.route("/f", .status(500), .file(Self.body, FileOptions(etag: "\"one\"")))
      second.route("/f", .file(Self.body, FileOptions(etag: "\"two\"", ending: .reset(after: 2 << 20))))
      _ = try place.list([first.url("/f") + "\tmirror=\(second.url("/f"))" + Self.sum])
      let run = try await place.dlm("get", "urls.txt", "--retries", "0", "-s", "1")
      #expect(run.status != 0)
      #expect(try place.names() == ["f.part", "f.part.json", "urls.txt"])
      #expect(try await place.dlm("get", "urls.txt", "-s", "1").status == 0)
      #expect(try place.file("f") == Self.body)
      #expect(sent(first) == Self.body.count - (2 << 20))
    }
  }

  @Test func whenNoneHasIt() async throws {
    try await withOrigins { first, second, place in
      first.route("/f", .status(404))
      second.route("/f", .status(403))
      second.route("/g", .close)
      let said = "\tmirror=\(second.url("/f"))\tmirror=\(second.url("/g"))"
      _ = try place.list([first.url("/f") + said])
      let run = try await place.dlm("get", "urls.txt", "--retries", "0", "--failed", "failed", "--progress", "none")
      let (one, two) = ("127.0.0.1:\(first.port)", "127.0.0.1:\(second.port)")
      let text = run.errorText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(
        run.status == 75  // the last one may do better
          && text.contains("\(one): 404 Not Found; \(two): 403 Forbidden; \(two): the server closed the connection"),
        "\(run.errorText)")
      let failed = try String(decoding: place.file("failed"), as: UTF8.self)
      #expect(failed.hasSuffix("\n\(first.url("/f"))\(said)\n"), "\(failed)")
    }
  }

  /// A line's own header lines and those of the user stay with the origin of the line's URL (HTTP rule 49).
  @Test func whatAMirrorIsTold() async throws {
    try await withOrigins { first, second, place in
      for path in ["/f", "/g"] { first.route(path, .status(404)) }
      second.route("/f", .file([1]))
      first.route("/here", .file([2]))
      let own = "\theader=X-Own: 1"
      first.route(
        "/urls.txt",
        .file(Array("/f\tmirror=\(second.url("/f"))\(own)\n/g\tmirror=\(first.url("/here"))\(own)\n".utf8)))
      _ = try place.list([first.url("/f") + "\tmirror=\(second.url("/f"))\(own)"])
      #expect(try await place.dlm("get", "urls.txt", "-H", "X-Run: 1").status == 0)
      let mine = second.log.last
      #expect(mine?.headers["x-run"] == nil && mine?.headers["x-own"] == nil)
      #expect(first.log.last?.headers["x-run"] == "1" && first.log.last?.headers["x-own"] == "1")
      #expect(try await place.dlm("get", "--list", first.url("/urls.txt"), "-H", "X-Run: 1", "-d", "o").status == 0)
      let strangers = second.log.last
      #expect(second.log.count == 2 && strangers?.headers["x-run"] == nil && strangers?.headers["x-own"] == nil)
      let here = first.record.requests(to: "/here").last
      #expect(here?.headers["x-run"] == "1" && here?.headers["x-own"] == "1")
    }
  }
}

extension Workplace {
  fileprivate func dlm(_ words: String..., arguments: [String]) async throws -> CommandResult {
    try await start(words + arguments).waitForExit()
  }
}
