import Glibc
import TestSupport
import Testing

@Suite("What is fresh costs no request (RFC 9111 §4.2; HTTP rules 15–18)", .serialized)
struct FreshFileTests {
  private static let one = SplitMix64.bytes(count: 5000, seed: 1)
  private static let two = SplitMix64.bytes(count: 6000, seed: 2)

  private static func file(_ body: [UInt8], _ etag: String, _ headers: String...) -> OriginAnswer {
    .file(body, FileOptions(etag: "\"\(etag)\"", headers: headers))
  }

  @Test func noRequestIsMade() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1", "Cache-Control: max-age=3600"))
    origin.route("/g", Self.file(Self.two, "2"))
    let place = try Workplace()
    let list = try place.list([origin.url("/f"), origin.url("/g")])
    #expect(try await place.dlm("get", list).status == 0)
    let again = try await place.dlm("get", list)
    #expect(again.status == 0, "\(again.errorText)")
    #expect(again.errorText.contains("1 fresh, 1 unchanged"), "\(again.errorText)")
    #expect(origin.log.map(\.path).filter { $0 == "/f" }.count == 1)
    // Whoever touches a file has it brought back, fresh or not.
    try place.folder.write(Array("touched".utf8), to: "work/f")
    #expect(try await place.dlm("get", list).status == 0)
    #expect(origin.log.map(\.path).filter { $0 == "/f" }.count == 2)
    let names = try place.names().filter { $0.hasPrefix("f") }
    #expect(try names.contains { try place.file($0) == Self.one })
  }

  @Test func intoAnotherFolder() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f",
      Self.file(
        Self.one, "1", "Cache-Control: max-age=3600", "Content-Disposition: attachment; filename=n.bin"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    let copied = try await place.dlm("get", origin.url("/f"), "-d", "b")
    #expect(copied.status == 0, "\(copied.errorText)")
    #expect(copied.errorText.contains("1 from cache"), "\(copied.errorText)")
    #expect(try place.file("b/n.bin") == Self.one)
    // What is known of the source holds for the copy.
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "b").errorText.contains("1 fresh"))
    #expect(origin.log.count == 1)
  }

  /// A fresh file in another folder that can no longer be read failed the download, with words about
  /// `--offline`.
  @Test func aSourceThatCannotBeRead() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1", "Cache-Control: max-age=3600"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    let run = try await place.start(
      "strace",
      [
        "-f", "-o", "/dev/null", "-P", "\(place.work)/a/f", "-e", "trace=openat", "-e",
        "inject=openat:error=EACCES", try DLMExecutable.path(), "get", origin.url("/f"), "-d", "b",
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("b/f") == Self.one)
    #expect(origin.record.bodyBytesSent["/f"] == 2 * Self.one.count)
  }

  /// A source that became shorter while it was copied. What had been copied of it stood behind the server's
  /// shorter file.
  @Test func aCopyThatBreaksOffLeavesNothing() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let long = SplitMix64.bytes(count: 3 << 20, seed: 3)
    origin.route("/f", Self.file(long, "1", "Cache-Control: max-age=3600"), Self.file(Self.one, "2"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    let run = try await place.start(
      "strace",
      [
        "-f", "-o", place.folder.path("trace"), "-e", "trace=copy_file_range,ioctl", "-e",
        "inject=copy_file_range:retval=0:when=2+", "-e", "inject=ioctl:error=EOPNOTSUPP",
        try DLMExecutable.path(), "get", origin.url("/f"), "-d", "b",
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(String(decoding: try place.folder.read("trace"), as: UTF8.self).contains("INJECTED"))
    #expect(try place.file("b/f") == Self.one)
  }

  /// The age that caches on the way give it counts.
  @Test func whatIsOldIsAskedAbout() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1", "Cache-Control: max-age=3600", "Age: 3600"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let again = try await place.dlm("get", origin.url("/f"))
    #expect(again.errorText.contains("up to date: 1 file"), "\(again.errorText)")
    #expect(origin.log.last?.headers["if-none-match"] == "\"1\"")
    #expect(origin.log.count == 2)
  }

  /// A 304 that names a lifetime makes the file fresh again (§4.3.4).
  @Test func a304MakesFresh() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f", Self.file(Self.one, "1"), .status(304, headers: ["ETag: \"1\"", "Cache-Control: max-age=3600"]))
    let place = try Workplace()
    for _ in 0..<4 { #expect(try await place.dlm("get", origin.url("/f")).status == 0) }
    #expect(origin.log.count == 2)
  }

  @Test(arguments: [
    (["--revalidate"], "no-cache"), (["--max-age", "0"], "max-age=0"),
    (["-H", "Cache-Control: no-cache"], "no-cache"), (["-H", "Pragma: no-cache"], nil),
  ])
  func allAreAskedAbout(options: [String], line: String?) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    // Its age is more than none, however soon it is asked for again.
    origin.route("/f", Self.file(Self.one, "1", "Cache-Control: max-age=3600, immutable", "Age: 10"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let again = try await place.start(["get", origin.url("/f")] + options).waitForExit()
    #expect(again.errorText.contains("up to date: 1 file"), "\(again.errorText)")
    #expect(origin.log.count == 2)
    #expect(origin.log.last?.headers["cache-control"] == line)
  }

  @Test func refreshFetches() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let fresh = "Cache-Control: max-age=3600"
    origin.route("/f", Self.file(Self.one, "1", fresh), Self.file(Self.two, "2", fresh))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try await place.dlm("get", origin.url("/f"), "--refresh").status == 0)
    #expect(try place.file("f") == Self.two)
  }

  @Test func guessedWhereAskedFor() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f", .file(Self.one, FileOptions(etag: nil, lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try await place.dlm("get", origin.url("/f")).errorText.contains("up to date: 1 file"))
    #expect(try await place.dlm("get", origin.url("/f"), "--heuristic").errorText.contains("1 fresh"))
    #expect(origin.log.count == 2)
  }

  @Test func staleWhereAllowed() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1", "Cache-Control: max-age=60", "Age: 600"))
    origin.route("/g", Self.file(Self.one, "1", "Cache-Control: max-age=60, must-revalidate", "Age: 600"))
    let place = try Workplace()
    for name in ["/f", "/g"] { #expect(try await place.dlm("get", origin.url(name)).status == 0) }
    let stale = try await place.dlm("get", origin.url("/f"), "--max-stale", "3600")
    #expect(stale.errorText.contains("stale"), "\(stale.errorText)")
    #expect(origin.log.count == 2)
    #expect(try await place.dlm("get", origin.url("/g"), "--max-stale", "3600").status == 0)
    #expect(origin.log.count == 3)
  }

  /// RFC 5861: the server is gone, and its older answer may be used; the next address has none, and fails.
  @Test func staleWhereTheServerFails() async throws {
    let origin = try FaultyOrigin()
    origin.route(
      "/f", Self.file(Self.one, "1", "Cache-Control: max-age=60, stale-if-error=86400", "Age: 600"))
    origin.route("/g", Self.file(Self.two, "1", "Cache-Control: max-age=60", "Age: 600"))
    let place = try Workplace()
    let list = try place.list([origin.url("/f"), origin.url("/g")])
    #expect(try await place.dlm("get", list).status == 0)
    origin.stop()
    let run = try await place.dlm("get", list, "--retries", "0")
    #expect(run.status == 75, "\(run.errorText)")
    #expect(run.errorText.contains("1 of them stale"), "\(run.errorText)")
    #expect(run.errorText.contains("1 failed"), "\(run.errorText)")
    #expect(try place.file("f") == Self.one)
    let refreshed = try await place.dlm("get", list, "--retries", "0", "--refresh")
    #expect(refreshed.errorText.contains("2 failed"), "\(refreshed.errorText)")
  }

  /// The same where the older answer stands in another folder, or in the store: it is copied.
  @Test(arguments: ["a", "b"])
  func staleElsewhereWhereTheServerFails(directory: String) async throws {
    let origin = try FaultyOrigin()
    origin.route(
      "/f", Self.file(Self.one, "1", "Cache-Control: max-age=60, stale-if-error=86400", "Age: 600"))
    origin.route("/g", Self.file(Self.two, "1", "Cache-Control: max-age=60", "Age: 600"))
    origin.route(
      "/h",
      Self.file(
        Self.two, "1", "Cache-Control: max-age=60, must-revalidate, stale-if-error=86400", "Age: 600"))
    let place = try Workplace()
    let list = try place.list(["/f", "/g", "/h"].map { origin.url($0) })
    #expect(try await place.dlm("get", list, "-d", "a", "--store", "copy").status == 0)
    origin.stop()
    // Without `-d b`, only the store has it.
    if directory == "a" { for name in ["f", "g", "h"] { try place.folder.remove("work/a/\(name)") } }
    let run = try await place.dlm("get", list, "-d", directory, "--retries", "0", "--progress", "json")
    #expect(run.status == 75, "\(run.errorText)")
    #expect(try place.names(in: directory) == ["f"])
    #expect(try place.file("\(directory)/f") == Self.one)
    #expect(run.outputText.contains("\"remark\":\"stale\""), "\(run.outputText)")
    #expect(run.outputText.contains("\"how\":\"copied\""), "\(run.outputText)")
    // From then on it is the folder's own, and as stale as it was.
    let again = try await place.dlm("get", list, "-d", directory, "--retries", "0")
    #expect(again.errorText.contains("1 unchanged, 1 of them stale"), "\(again.errorText)")
  }

  /// What came of the new version before its server failed stays, for the next run to go on with.
  @Test func aPartOutlivesItsStandIn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    var cut = FileOptions(etag: "\"2\"")
    cut.ending = .close(after: 4000)
    origin.route(
      "/f", Self.file(Self.one, "1", "Cache-Control: stale-if-error=86400"), .file(Self.two, cut),
      .file(Self.two, FileOptions(etag: "\"2\"")))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    let run = try await place.dlm("get", origin.url("/f"), "-d", "b", "--retries", "0")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("1 of them stale"), "\(run.errorText)")
    #expect(try place.file("b/f") == Self.one)
    #expect(try place.names(in: "b") == ["f", "f.part", "f.part.json"])
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "b").status == 0)
    #expect(try place.file("b/f") == Self.two)
    #expect(try place.names(in: "b") == ["f"])
    #expect(origin.log.last?.headers["range"] == "bytes=4000-")
  }

  /// What stands under the name and is left there is not a stale answer.
  @Test func nothingStaleIsUsedWhereAFileIsLeft() async throws {
    let origin = try FaultyOrigin()
    origin.route(
      "/f", Self.file(Self.one, "1", "Cache-Control: max-age=60, stale-if-error=86400", "Age: 600"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    origin.stop()
    try place.folder.write(Self.two, to: "work/b/f")
    for options in [["--retries", "0"], ["--max-stale", "3600"]] {
      let run = try await place.start(
        ["get", origin.url("/f"), "-d", "b", "--on-conflict", "skip"] + options
      ).waitForExit()
      #expect(run.errorText.contains("1 skipped (a file existed)"), "\(run.errorText)")
      #expect(!run.errorText.contains("stale"), "\(run.errorText)")
      #expect(try place.file("b/f") == Self.two)
    }
  }

  /// An answer needs no validator to stand in: nothing is asked about it.
  @Test func staleWithoutAValidator() async throws {
    let origin = try FaultyOrigin()
    origin.route(
      "/f",
      .file(
        Self.one,
        FileOptions(
          etag: nil, lastModified: nil,
          headers: ["Cache-Control: max-age=60, stale-if-error=86400", "Age: 600"])))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    origin.stop()
    for directory in ["a", "b"] {
      let run = try await place.dlm("get", origin.url("/f"), "-d", directory, "--retries", "0")
      #expect(run.status == 0, "\(directory): \(run.errorText)")
      #expect(try place.file("\(directory)/f") == Self.one)
    }
  }

  // MARK: Copies with the wrong bytes

  /// Changes a byte as a broken disk does: its length and its time stay.
  private static func corrupt(_ path: String) throws {
    let file = open(path, O_RDWR)
    defer { close(file) }
    var status = stat()
    try #require(fstat(file, &status) == 0)
    try #require(pwrite(file, [0xff, 0xfe, 0xfd], 3, 100) == 3)
    try #require(futimens(file, [status.st_atim, status.st_mtim]) == 0)
  }

  /// A copy of a file that was fresh, or that a 304 confirmed, had the wrong checksum, and that was final.
  @Test(arguments: ["Cache-Control: max-age=3600", "X-Nothing: 1"])
  func aCopyWithWrongBytesIsFetched(header: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1", header))
    let place = try Workplace()
    let checksum = "sha256:\(try await ProofTests.sum(Self.one))"
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    try Self.corrupt(place.folder.path("work/a/f"))
    let offline = try await place.dlm(
      "get", origin.url("/f"), "-d", "c", "--checksum", checksum, "--offline")
    #expect(offline.status == 1, "\(offline.errorText)")
    #expect(offline.errorText.contains("sha256"), "\(offline.errorText)")
    let run = try await place.dlm("get", origin.url("/f"), "-d", "b", "--checksum", checksum)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    #expect(try place.file("b/f") == Self.one)
    #expect(try place.names(in: "b") == ["f"])
    #expect(origin.record.bodyBytesSent["/f"] == 2 * Self.one.count)
    // The wrong bytes answer nobody any more, and give way in their own folder.
    try place.folder.remove("work/b/f")
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "b").status == 0)
    #expect(try place.file("b/f") == Self.one)
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a", "--revalidate").status == 0)
    #expect(try place.file("a/f") == Self.one)
    #expect(try place.names(in: "a") == ["f"])
  }

  /// Where the server's bytes are wrong too, the checksum is at fault: after one fetch, and the source stays
  /// what it was.
  @Test func aWrongChecksumCostsOneFetch() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1", "Cache-Control: max-age=3600"))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "a").status == 0)
    let checksum = "sha256:\(try await ProofTests.sum(Self.two))"
    let run = try await place.dlm("get", origin.url("/f"), "-d", "b", "--checksum", checksum)
    #expect(run.status == 1, "\(run.errorText)")
    #expect(origin.log.count == 2)
    #expect(origin.log.last?.headers["cache-control"] == "no-cache")
    #expect(origin.log.last?.headers["if-none-match"] == nil)
    #expect(try await place.dlm("get", origin.url("/f"), "-d", "c").errorText.contains("1 from cache"))
    #expect(origin.log.count == 2)
  }

  /// A host that was given up took all its files with it, also those that need no host.
  @Test func aHostThatIsGoneFailsNothingFresh() async throws {
    let origin = try FaultyOrigin()
    for number in 0..<60 {
      let fresh = number >= 40
      origin.route(
        "/\(number)", Self.file(Self.one, "1", fresh ? "Cache-Control: max-age=3600" : "X-Nothing: 1"))
    }
    let place = try Workplace()
    let list = try place.list((0..<60).map { origin.url("/\($0)") })
    #expect(try await place.dlm("get", list).status == 0)
    origin.stop()
    let run = try await place.dlm("get", list, "--retries", "0", "-j", "4")
    #expect(run.status == 75, "\(run.errorText)")
    #expect(run.errorText.contains("20 fresh"), "\(run.errorText)")
    #expect(run.errorText.contains("40 failed"), "\(run.errorText)")
  }

  /// RFC 9111 §5.2.1.7
  @Test func onlyIfCached() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", Self.file(Self.one, "1"))
    let place = try Workplace()
    let option = ["-H", "Cache-Control: only-if-cached"]
    let failed = try await place.start(["get", origin.url("/f")] + option).waitForExit()
    #expect(failed.status == 1)
    #expect(failed.errorText.contains("without only-if-cached"), "\(failed.errorText)")
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try await place.start(["get", origin.url("/f")] + option).waitForExit().status == 0)
    #expect(origin.log.count == 1)
  }

  /// The command that was to try again what failed offline said `--offline` again.
  @Test func whatIsNotThereOffline() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/f"), "--offline", "-j", "4")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("run it once without --offline"), "\(run.errorText)")
    #expect(
      run.errorText.contains("not downloaded again):\n    dlm get \(origin.url("/f")) --jobs 4\n"), "\(run.errorText)")
  }

  @Test func offlineAndRevalidateContradict() async throws {
    let place = try Workplace()
    let run = try await place.dlm("get", "http://127.0.0.1:1/x", "--offline", "--revalidate")
    #expect(run.status == 64, "\(run.errorText)")
    #expect(run.errorText.contains("use one of the two"), "\(run.errorText)")
  }
}
