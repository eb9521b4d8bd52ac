import Foundation
import TestSupport
import Testing

@Suite(
  "What is here answers only the request that it was the answer to (HTTP rules 27–33 and 42)", .serialized)
struct StoredAnswerTests {
  private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let one = SplitMix64.bytes(count: 5000, seed: 1)
  private static let two = SplitMix64.bytes(count: 5000, seed: 2)

  private static func dated(_ date: String = old, headers: [String] = []) -> FileOptions {
    FileOptions(etag: nil, lastModified: date, headers: headers)
  }

  /// HTTP rule 27. The validator of the first target was sent to the second, and its 304 believed: "latest"
  /// stayed the old version where tags or dates collide, and also where only the query differs.
  @Test(arguments: [false, true], ["/v2", "/v1?of=2"])
  func aRedirectToAnotherResourceProvesNothing(isDated: Bool, second: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let options = isDated ? Self.dated() : FileOptions()
    origin.route("/latest", .redirect(302, to: "/v1?of=1"), .redirect(302, to: second))
    origin.route("/v1?of=1", .file(Self.one, options))
    origin.route(second, .file(Self.two, options))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/latest"), "-o", "f").status == 0)
    #expect(try place.file("f") == Self.one)
    let run = try await place.dlm("get", origin.url("/latest"), "-o", "f", "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(!run.errorText.contains("retry"), "\(run.errorText)")
    #expect(try place.file("f") == Self.two)
    #expect(try place.names() == ["f"])
    // A steady redirect keeps its 304.
    let before = origin.log.count
    let steady = try await place.dlm("get", origin.url("/latest"), "-o", "f")
    #expect(steady.errorText.contains("up to date: 1 file"), "\(steady.errorText)")
    #expect(origin.log.count == before + 2)
  }

  /// The same for a signature that is new each time.
  @Test func aRedirectThatIsOnlySignedAnewKeepsIts304() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f", .redirect(302, to: "/x?X-Amz-Date=1&X-Amz-Signature=a"),
      .redirect(302, to: "/x?X-Amz-Date=2&X-Amz-Signature=b"))
    origin.route("/x", .file(Self.one))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let run = try await place.dlm("get", origin.url("/f"))
    #expect(run.errorText.contains("up to date: 1 file"), "\(run.errorText)")
    #expect(origin.log.count == 4)
  }

  /// HTTP rule 28.
  @Test(arguments: ["ETag: \"v2\"", "ETag: W/\"v2\""])
  func a304OfAnotherVersionConfirmsNothing(line: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f", .file(Self.one), .status(304, headers: [line]), .file(Self.two, FileOptions(etag: "\"v2\"")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let run = try await place.dlm("get", origin.url("/f"), "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == Self.two)
  }

  /// HTTP rules 28 and 31. `If-Modified-Since: 0` was sent; and a file that changes twice in the second of
  /// its answer has one date for two versions.
  @Test(arguments: [
    dated("0"), dated("tomorrow"), FileOptions(etag: nil, lastModified: old, date: .text(old)),
  ])
  func datesThatProveNothingAreNotSentBack(options: FileOptions) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.one, options), .file(Self.two, options))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(origin.log.last?.headers["if-modified-since"] == nil)
    #expect(try place.file("f") == Self.two)
  }

  /// HTTP rules 29 and 30: after German, English; and offline each has its own.
  @Test(arguments: [
    ["-H", "Accept-Language: "], ["-H", "User-Agent: "], ["--user-agent", ""], ["-H", "X-Api-Key: "],
  ])
  func whatSelectsAnAnswerIsNotMixedUp(option: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let options = Self.dated(headers: ["Vary: Accept-Encoding, Accept-Language, User-Agent"])
    origin.route("/f", .file(Self.one, options), .file(Self.two, options))
    let place = try Workplace()
    func get(_ value: String, _ more: String...) async throws -> CommandResult {
      try await place.start(["get", origin.url("/f"), option[0], option[1] + value] + more).waitForExit()
    }
    #expect(try await get("de").status == 0)
    let stranger = try await get("en", "--offline")
    #expect(stranger.status == 1, "\(stranger.errorText)")
    #expect(try await get("de", "--offline").status == 0)
    #expect(try await get("de").errorText.contains("up to date: 1 file"))
    let other = try await get("en")
    #expect(other.status == 0, "\(other.errorText)")
    #expect(origin.log.last?.headers["if-modified-since"] == nil)
    let files = try place.names().map { try place.file($0) }
    #expect(files.contains(Self.two))
    #expect(try await get("en").errorText.contains("up to date: 1 file"))
  }

  /// A strong tag names bytes: the server selects, and says by the tag which (RFC 9111 §4.1, §4.3.1).
  @Test func aStrongTagIsAskedAboutUnderOtherFields() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.one, FileOptions(headers: ["Vary: User-Agent"])))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "--user-agent", "a").status == 0)
    let run = try await place.dlm("get", origin.url("/f"), "--user-agent", "b")
    #expect(run.errorText.contains("up to date: 1 file"), "\(run.errorText)")
    let none = try await place.dlm("get", origin.url("/f"), "--user-agent", "c", "--offline")
    #expect(none.status == 1)
    #expect(none.errorText.contains("another login, certificate or header"), "\(none.errorText)")
  }

  /// HTTP rule 30: by its path alone, a netrc file with another login served the first one's file.
  @Test func whatNetrcGaveIsInTheKey() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .behindBasic(.file(Self.one)))
    let place = try Workplace()
    func netrc(_ password: String, _ more: String = "") throws {
      let text = "machine 127.0.0.1 login me password \(password)\n\(more)"
      _ = try place.folder.write(Array(text.utf8), to: "work/netrc")
    }
    try netrc("p1")
    #expect(try await place.dlm("get", origin.url("/f"), "--netrc-file", "netrc").status == 0)
    #expect(origin.log.last?.headers["authorization"] == "Basic bWU6cDE=")
    try netrc("p1", "machine elsewhere login x password y\n")
    #expect(try await place.dlm("get", origin.url("/f"), "--netrc-file", "netrc", "--offline").status == 0)
    try netrc("p2")
    #expect(try await place.dlm("get", origin.url("/f"), "--netrc-file", "netrc", "--offline").status == 1)
    #expect(try await place.dlm("get", origin.url("/f"), "--offline").status == 1)
    let pipe = try await place.dlm("get", origin.url("/f"), "--netrc-file", "/dev/null")
    #expect(pipe.status == 64)
    #expect(pipe.errorText.contains("/dev/null"), "\(pipe.errorText)")
  }

  /// HTTP rule 30, RFC 9111 §5.2.1.5.
  @Test func aRequestWithNoStoreLeavesNoRow() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.one))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "-H", "cache-control: max-age=0, no-store")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try await place.dlm("cache", "status").outputText.contains("0 files"))
    #expect(try place.file("f") == Self.one)
  }

  @Test func refreshAsksPastEveryCache() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.one))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(origin.log.last?.headers["cache-control"] == nil)
    let run = try await place.dlm("get", origin.url("/f"), "--refresh")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.last?.headers["cache-control"] == "no-cache")
    #expect(origin.log.last?.headers["if-none-match"] == nil)
    #expect(try place.names() == ["f"])
  }

  /// HTTP rule 32.
  @Test func unknownSuccessAndNoContent() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/odd", .status(250, body: Self.one))
    origin.route("/none", .status(204))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/odd"), origin.url("/none"), "--progress", "plain")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("odd") == Self.one)
    #expect(try place.file("none").isEmpty)
    #expect(
      run.errorText.contains("none, 0 B, empty: the server answered 204 No Content"), "\(run.errorText)")
    #expect(run.errorText.contains("1 empty (204 No Content)"), "\(run.errorText)")
    let json = try await place.dlm("get", origin.url("/none"), "--refresh", "--progress", "json")
    #expect(json.outputText.contains("\"remark\":\"no-content\""), "\(json.outputText)")
  }

  /// HTTP rule 33. The body of this 404 never ends: it took 31 s, was called temporary, and was asked for
  /// again.
  @Test(.timeLimit(.minutes(hangMinutes)))
  func anErrorIsReportedFromItsHead() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .unfinished(Array("HTTP/1.1 404 Not Found\r\nContent-Length: 500\r\n\r\nNot".utf8)))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--stall-timeout", "3600")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("404 Not Found"), "\(run.errorText)")
    #expect(origin.log.count == 1)
  }

  /// HTTP rule 42. A line that is not the user's to send is refused before anything is asked, by its name
  /// alone.
  @Test(arguments: [
    ("Proxy-Authorization: Basic s3cret", "--proxy"), ("Range: bytes=0-s3cret", "ranges"),
    ("if-range: s3cret", "ranges"), ("If-None-Match: s3cret", "--refresh"),
    ("Accept-Encoding: s3cret", "leave it out"),
    ("transfer-encoding : s3cret", "leave it out"),
  ])
  func linesThatAreNotTheUsers(line: String, remedy: String) async throws {
    let place = try Workplace()
    let run = try await place.dlm("get", "http://127.0.0.1:9/f", "-H", line)
    #expect(run.status == 64, "\(run.errorText)")
    #expect(run.errorText.contains(remedy), "\(run.errorText)")
    #expect(!run.errorText.contains("s3cret"), "\(run.errorText)")
  }

  /// HTTP rule 42.
  @Test func keysDoNotCrossToAnotherOrigin() async throws {
    let (origin, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      origin.stop()
      other.stop()
    }
    origin.route("/f", .redirect(302, to: other.url("/g")))
    other.route("/g", .file(Self.one))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "-H", "X-Api-Key: s3cret")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.first?.headers["x-api-key"] == "s3cret")
    #expect(other.log.count == 1 && other.log.first?.headers["x-api-key"] == nil)
  }

  // MARK: What is proved needs no question

  /// A second run fetched anew what `--checksums` proves to be there: without a validator, and without a row.
  @Test func whatAChecksumProvesIsNotAskedFor() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(["a", "b"].map { origin.url("/\($0)") })
    origin.route("/a", .file(Self.one, FileOptions(etag: nil)))
    origin.route("/b", .file(Self.two))
    let sums = "\(try await ProofTests.sum(Self.one))  a\n\(try await ProofTests.sum(Self.two))  b\n"
    _ = try place.folder.write(Array(sums.utf8), to: "work/SUMS")
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    for clears in [false, true] {
      if clears { #expect(try await place.dlm("clear-cache").status == 0) }
      let run = try await place.dlm("get", "urls.txt", "-d", "out", "--checksums", "SUMS")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.errorText.contains("up to date: 2 files"), "\(run.errorText)")
      #expect(run.errorText.contains("2 verified by checksum"), "\(run.errorText)")
      #expect(origin.log.count == 2)
    }
    let single = try await place.dlm(
      "get", origin.url("/a"), "-d", "out", "--no-cache", "--checksum",
      "sha256:\(try await ProofTests.sum(Self.one))")
    #expect(single.errorText.contains("up to date: 1 file"), "\(single.errorText)")
    #expect(origin.log.count == 2)
    // Wrong bytes under the name are nobody's proof.
    _ = try place.folder.write(Self.two, to: "work/out/a")
    #expect(try await place.dlm("get", "urls.txt", "-d", "out", "--checksums", "SUMS").status == 0)
    #expect(origin.log.count == 3)
  }

  /// One file is not taken for two addresses, also where the checksum of the name is right for both.
  @Test func oneFileProvesOneAddress() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for path in ["/a/x", "/b/x"] { origin.route(path, .file(Self.one)) }
    _ = try place.folder.write(Self.one, to: "work/out/x")
    _ = try place.folder.write(Array("\(try await ProofTests.sum(Self.one))  x\n".utf8), to: "work/SUMS")
    _ = try place.list([origin.url("/a/x"), origin.url("/b/x")])
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "--checksums", "SUMS")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 2)
    #expect(origin.log.count == 1)
  }

  /// "0 B freed" was said when 12 KiB were: what an open database has beside it was counted after, and not
  /// before.
  @Test func whatIsFreedIsWhatTheFolderTakesLess() async throws {
    let place = try await CacheCommandTests.threeHundred()
    _ = try place.folder.write(Self.one, to: "home/cache/dlm/index.sqlite.damaged-1")
    func size() async throws -> Int {
      try await CacheCommandTests.du(place.folder.path("home/cache/dlm"))
    }
    let status = try await place.dlm("cache", "status")
    let before = try await size()
    #expect(status.outputText.contains("takes \(Self.kibibytes(before))"), "\(status.outputText)")
    let cleared = try await place.dlm("clear-cache")
    let freed = before - (try await size())
    #expect(freed > 12 * 1024)
    #expect(cleared.outputText.contains("\(Self.kibibytes(freed)) freed"), "\(cleared.outputText) \(freed)")
  }

  private static func kibibytes(_ bytes: Int) -> String {
    String(format: bytes < 102_400 ? "%.1f KiB" : "%.0f KiB", Double(bytes) / 1024)
  }
}
