import Foundation
import TestSupport
import Testing

@Suite("A file gets its name only with the proof that was asked for (HTTP rules 23 and 24)")
struct ProofTests {
  private static let body = SplitMix64.bytes(count: 300_000, seed: 7)
  private static let other = SplitMix64.bytes(count: 300_000, seed: 8)

  /// By the system's own tool, so that dlm is not measured by itself.
  static func sum(_ body: [UInt8], _ tool: String = "sha256sum") async throws -> String {
    let folder = try TemporaryFolder()
    let path = try folder.write(body, to: "x")
    let result = try await CommandRun.result(of: tool, [path])
    return String(result.outputText.prefix { $0 != " " })
  }

  @Test(arguments: ["sha256", "sha512", "sha384", "sha1", "md5"])
  func theRightChecksum(_ algorithm: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body))
    let place = try Workplace()
    let sum = try await Self.sum(Self.body, algorithm + "sum")
    let run = try await place.dlm("get", origin.url("/f"), "--checksum", "\(algorithm):\(sum)")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    #expect(try place.file("f") == Self.body)
  }

  /// Wrong bytes never stand under the final name: they are fetched once more, then set aside.
  @Test func theWrongChecksum() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body))
    let place = try Workplace()
    let sum = try await Self.sum(Self.other)
    for _ in 0...1 {
      let run = try await place.dlm("get", origin.url("/f"), "--checksum", "sha256:\(sum)")
      #expect(run.status == 1)
      #expect(run.errorText.contains("checksum mismatch"), "\(run.errorText)")
      #expect(run.errorText.contains(sum), "\(run.errorText)")
      #expect(run.errorText.contains("f.rejected"), "\(run.errorText)")
      #expect(try place.names() == ["f.rejected"])
    }
    #expect(try place.file("f.rejected") == Self.body)
    #expect(origin.log.count == 4)
    // It is dlm's own, and is nobody's file: not listed, and removed with what is unfinished.
    for command in ["list", "verify"] { #expect(try await place.dlm("cache", command).outputText.isEmpty) }
    let removed = try await place.dlm("clear-cache", "--partial")
    #expect(removed.status == 0 && (removed.outputText + removed.errorText).contains("1 unfinished file"))
    #expect(try place.names().isEmpty)
    // One that the user has made stays.
    _ = try place.folder.write([1], to: "work/f.rejected")
    #expect(try await place.dlm("get", origin.url("/f"), "--checksum", "sha256:\(sum)").status == 1)
    #expect(try place.names() == ["f.rejected", "f.rejected.1"])
    #expect(try await place.dlm("clear-cache", "--partial").status == 0)
    #expect(try place.names() == ["f.rejected"] && place.file("f.rejected") == [1])
    #expect(origin.log[1].headers["cache-control"] == "no-cache", "past every cache on the way")
  }

  @Test func wrongOnceIsMendedByFetchingAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    // Of equal length and validator: nothing but the checksum tells them apart.
    origin.route("/f", .file(Self.other), .file(Self.body))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", origin.url("/f"), "--checksum", "sha256:\(try await Self.sum(Self.body))")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.body)
    #expect(try place.names() == ["f"])
  }

  /// The part of an earlier run did not go through this run's hands, so it is read.
  @Test func aResumedFileIsProvedWhole() async throws {
    let body = SplitMix64.bytes(count: 3 << 20, seed: 9)
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(body, FileOptions(ending: .close(after: 2 << 20))), .file(body))
    let place = try Workplace()
    let sum = "sha256:\(try await Self.sum(body))"
    let cut = try await place.dlm("get", origin.url("/f"), "--checksum", sum, "--retries", "0")
    #expect(cut.status == 75)
    let run = try await place.dlm("get", "-s", "1", origin.url("/f"), "--checksum", sum)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.last?.headers["range"] == "bytes=\(2 << 20)-")
    #expect(run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    #expect(try place.file("f") == body)
  }

  /// A 304 vouches for the server's file; whether that is the right one, the checksum says.
  @Test func theSecondRunComparesWhatStandsThere() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.body))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let right = try await place.dlm(
      "get", origin.url("/f"), "--checksum", "sha256:\(try await Self.sum(Self.body))")
    #expect(right.status == 0)
    #expect(right.errorText.contains("up to date: 1 file") && right.errorText.contains("1 verified by checksum"))
    let wrong = try await place.dlm(
      "get", origin.url("/f"), "--checksum", "sha256:\(try await Self.sum(Self.other))")
    #expect(wrong.status == 1)
    #expect(try place.file("f") == Self.body, "what was there stays")
    #expect(try place.names() == ["f", "f.rejected"])
  }

  @Test func aListOfChecksums() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file(Self.body))
    origin.route("/b", .file(Self.body))
    origin.route("/c", .file([1, 2, 3]))
    let place = try Workplace()
    _ = try place.list(["a", "b", "c"].map { origin.url("/\($0)") })
    _ = try place.folder.write(
      Array(
        """
        \(try await Self.sum(Self.body))  a
        SHA256 (b) = \(try await Self.sum(Self.other))
        nonsense
        \(try await Self.sum([9]))  pool/d

        """.utf8), to: "work/SUMS")
    let run = try await place.dlm("get", "urls.txt", "--checksums", "SUMS", "-d", "out", "--failed", "again")
    #expect(run.status == 1)
    #expect(run.errorText.contains("SUMS:3"), "\(run.errorText)")
    #expect(run.errorText.contains("not in this run: d"), "\(run.errorText)")
    #expect(run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    #expect(try place.names(in: "out") == ["a", "b.rejected", "c"])
    let failed = String(decoding: try place.file("again"), as: UTF8.self)
    #expect(failed.hasSuffix("\n\(origin.url("/b"))\tdirectory=out\n"), "\(failed)")
  }

  /// A checksum that finds no forgery is named, wherever it is from; it is compared like the others.
  @Test func weakChecksums() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for path in ["/a", "/b", "/c"] { origin.route(path, .file(Array("123456789".utf8))) }
    let place = try Workplace()
    _ = try place.list([
      origin.url("/a") + "\tcrc32c=4waSgw==", origin.url("/b") + "\tmd5=25f9e794323b453885f5181f1b624d0b",
      origin.url("/c") + "\tchecksum=sha256-FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
    ])
    for _ in 0..<2 {
      let run = try await place.dlm("get", "urls.txt", "-d", "out", "-v")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(
        run.errorText.contains("3 verified by checksum, 2 of them only by md5, sha1 or crc32c"), "\(run.errorText)")
      #expect(run.errorText.contains("verified=crc32c"), "\(run.errorText)")
    }
    let weak = try await place.dlm("get", origin.url("/a"), "--checksum", "crc32c:e3069283", "-d", "weak")
    #expect(weak.errorText.contains("1 verified by checksum: md5, sha1 or crc32c, which"), "\(weak.errorText)")
    let wrong = try await place.dlm("get", origin.url("/a"), "--checksum", "crc32c:00000000")
    #expect(wrong.status == 1 && wrong.errorText.contains("checksum mismatch"), "\(wrong.errorText)")
  }

  /// As a file's, but for where they come from.
  @Test func checksumsAtAnAddress() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file(Self.body))
    origin.route("/b", .file(Self.body))
    let sums = "\(try await Self.sum(Self.body))  pool/a\nnonsense\n\(try await Self.sum(Self.other)) *b\n"
    origin.route("/SUMS", .file(Array(sums.utf8)))
    origin.route("/none", .file(Array("nothing\n".utf8)))
    let place = try Workplace()
    _ = try place.list(["/a", "/b"].map { origin.url($0) })
    let run = try await place.dlm("get", "urls.txt", "--checksums", origin.url("/SUMS"), "-d", "out")
    #expect(run.status == 1 && run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    #expect(run.errorText.contains("/SUMS:2: not a checksum line"), "\(run.errorText)")
    #expect(try place.names(in: "out") == ["a", "b.rejected"])
    for (path, words) in [("/missing", "404"), ("/none", "has no checksums")] {
      let failed = try await place.dlm("get", "urls.txt", "--checksums", origin.url(path), "--retries", "0")
      #expect(failed.status == 66 && failed.errorText.contains(words), "\(failed.errorText)")
    }
    let login = try await place.dlm("get", "urls.txt", "--checksums", "http://u:CANARY@h/x")
    #expect(login.status == 64 && !login.errorText.contains("CANARY"), "\(login.errorText)")
    let offline = try await place.dlm("get", "urls.txt", "--checksums", origin.url("/SUMS"), "--offline")
    #expect(offline.status == 66 && offline.errorText.contains("not in the cache"), "\(offline.errorText)")
    // No folder has anything asked for.
    _ = try place.folder.write(Array("checksums = \(origin.url("/SUMS"))\n".utf8), to: "work/.dlm.conf")
    let before = origin.log.count { $0.path == "/SUMS" }
    #expect(try await place.dlm("get", "urls.txt", "-d", "new").status == 0)
    #expect(origin.log.count { $0.path == "/SUMS" } == before)
  }

  @Test func theServersOwnDigest() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let digest = Data(
      stride(from: 0, to: 64, by: 2).map { index in
        UInt8(
          Array("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")[index...].prefix(2)
            .reduce(into: "") { $0.append($1) }, radix: 16) ?? 0
      })
    let header = "Repr-Digest: sha-256=:\(digest.base64EncodedString()):"
    origin.route("/empty", .file([], FileOptions(headers: [header])))
    origin.route("/wrong", .file(Self.body, FileOptions(headers: [header])))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/empty"), origin.url("/wrong"))
    #expect(run.status == 1)
    #expect(run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    #expect(try place.names() == ["empty", "wrong.rejected"])
  }

  @Test(arguments: [
    ("none", FileOptions.Framing.closeDelimited, true), ("protocol", .closeDelimited, false),
    ("protocol", .chunked(size: 1000), true), ("length", .chunked(size: 1000), false),
    ("length", .contentLength, true), ("digest", .contentLength, false),
  ])
  func requiredProof(_ wanted: String, _ framing: FileOptions.Framing, _ suffices: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1, 2, 3], FileOptions(acceptRanges: nil, framing: framing)))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--require-proof", wanted)
    #expect(run.status == (suffices ? 0 : 1), "\(run.errorText)")
    // What came is kept beside: with less to prove, the next run need not fetch it again.
    #expect(try place.names().contains("f") == suffices)
    if !suffices { #expect(run.errorText.contains("cannot be verified"), "\(run.errorText)") }
  }

  @Test(arguments: [
    ["--checksum", "sha256:12"], ["--checksum", "crc:12345678"], ["--require-proof", "luck"],
  ])
  func badOptions(_ arguments: [String]) async throws {
    let place = try Workplace()
    #expect(try await place.start(["get", "http://127.0.0.1:9/x"] + arguments).waitForExit().status == 64)
  }

  @Test func aChecksumListThatIsNone() async throws {
    let place = try Workplace()
    let missing = try await place.dlm("get", "http://127.0.0.1:9/x", "--checksums", "SUMS")
    #expect(missing.status == 66)
    #expect(missing.errorText.contains("SUMS") && missing.errorText.contains("No such file"))
    _ = try place.folder.write(Array("hello\n".utf8), to: "work/SUMS")
    #expect(try await place.dlm("get", "http://127.0.0.1:9/x", "--checksums", "SUMS").status == 66)
  }

  /// The list of failures is readable; existing files are not downloaded again.
  @Test func theListOfWhatFailed() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for index in 0..<20 { origin.route("/f\(index)", .file([UInt8(index)])) }
    for index in [3, 7] { origin.route("/f\(index)", .status(404), .file([UInt8(index)])) }
    let place = try Workplace()
    _ = try place.list((0..<20).map { origin.url("/f\($0)") } + ["no address"])
    let first = try await place.dlm("get", "urls.txt", "-d", "out", "--failed", "again.txt")
    #expect(first.status == 1)
    let text = String(decoding: try place.file("again.txt"), as: UTF8.self)
    #expect(text.contains("# 404 Not Found"), "\(text)")
    #expect(text.contains("# urls.txt:21"), "\(text)")
    let second = try await place.dlm("get", "again.txt", "--failed", "left.txt")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(origin.log.count == 22)
    #expect(try place.names(in: "out").count == 20)
    #expect(try place.file("left.txt") == Array("# nothing failed\n".utf8))
  }

  /// A body that only the closing connection ends looks whole when it was cut. A server that knows ranges is
  /// asked whether there is more.
  @Test(arguments: [100_000, 300_000])
  func anEndThatProvesNothing(cut: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f", .file(Self.body, FileOptions(framing: .closeDelimited, ending: .close(after: cut))),
      .file(Self.body))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--require-proof", "length")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.body)
    #expect(origin.log.map { $0.headers["range"] } == [nil, "bytes=\(cut)-"])
  }

  /// The same over HTTP/2, where libcurl 7.88 takes a stream that was reset without an error for whole.
  @Test(arguments: ["length", "open", "error"])
  func streamsThatAreReset(how: String) async throws {
    let origin = try await HTTP2Origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list((0..<20).map { origin.url("/\(how)/\($0)") })
    let run = try await place.dlm(
      "get", "urls.txt", "--http2", "--cacert", origin.certificatePath, "-d", "out", "--require-proof",
      "length")
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<20 {
      #expect(try place.file("out/\(index)") == Self.pattern(index), "\(how)/\(index)")
    }
  }

  /// As the HTTP/2 origin makes its bodies.
  private static func pattern(_ index: Int) -> [UInt8] {
    (0..<200_000).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ index) % 251) }
  }

  /// curl#22923. Not one retry is counted.
  @Test func aHostThatRequiresHTTP1() async throws {
    let origin = try await HTTP2Origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list((0..<20).map { origin.url("/old/\($0)") })
    let run = try await place.dlm(
      "get", "urls.txt", "--http2", "--cacert", origin.certificatePath, "-d", "out", "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    for index in 0..<20 { #expect(try place.file("out/\(index)") == Self.pattern(index)) }
  }
}
