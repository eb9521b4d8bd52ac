import Glibc
import TestSupport
import Testing

@Suite("Files take the server's time of their last change, where the user wants it")
struct RemoteTimeTests {
  /// `FileOptions` has Tue, 01 Jul 2025 10:00:00 GMT.
  private static let remote = 1_751_364_000

  private static func time(_ place: Workplace, _ name: String) -> Int {
    var status = stat()
    return lstat("\(place.work)/\(name)", &status) == 0 ? status.st_mtim.tv_sec : -1
  }

  private static let isSet = ["--remote-time"]

  @Test func wholeChunkedAndWithoutLength() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/short", .file([1, 2, 3]))
    origin.route("/empty", .file([]))
    origin.route(
      "/chunked", .file(SplitMix64.bytes(count: 200_000, seed: 1), FileOptions(framing: .chunked(size: 999))))
    origin.route("/long", .file(SplitMix64.bytes(count: 5 << 20, seed: 2)))
    origin.route("/coded", .file(CodedSample.gzip, FileOptions(headers: ["Content-Encoding: gzip"])))
    let names = ["chunked", "coded", "empty", "long", "short"]
    let place = try Workplace()
    let list = try place.list(names.map { origin.url("/\($0)") })
    let first = try await place.dlm("get", list, "-d", "out", "--remote-time")
    #expect(first.status == 0, "\(first.errorText)")
    for name in names { #expect(Self.time(place, "out/\(name)") == Self.remote, "\(name)") }
    for options in [Self.isSet, []] {
      let again = try await place.start(["get", list, "-d", "out"] + options).waitForExit()
      #expect(again.errorText.contains("up to date: 5 files"), "\(again.errorText)")
    }
    for name in names { #expect(Self.time(place, "out/\(name)") == Self.remote, "\(name)") }
    // The index knows them as dlm wrote them.
    #expect(try await place.dlm("cache", "verify").status == 0)
    // Elsewhere they are copied, and have their time there too.
    let copied = try await place.dlm("get", list, "-d", "other", "--remote-time")
    #expect(copied.errorText.contains("5 from cache"), "\(copied.errorText)")
    for name in names { #expect(Self.time(place, "other/\(name)") == Self.remote, "\(name)") }
  }

  @Test func switchedOnForKnownFiles() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1, 2, 3]))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(Self.time(place, "f") != Self.remote)
    let known = try await Workplace.again(place, origin.url("/f"), Self.isSet)
    #expect(known.errorText.contains("up to date: 1 file"), "\(known.errorText)")
    #expect(Self.time(place, "f") == Self.remote)
    let after = try await Workplace.again(place, origin.url("/f"), [])
    #expect(after.errorText.contains("up to date: 1 file"), "\(after.errorText)")
    #expect(try place.names() == ["f"])
    #expect(origin.log.count == 3)
  }

  @Test(arguments: [
    nil, "Wed, 31 Dec 1969 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "0",
    "Mon, 01 Jan 1900 00:00:00 GMT",
  ])
  func absurdTimesAreNotTaken(field: String?) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1, 2, 3], FileOptions(lastModified: field)))
    let place = try Workplace(["DLM_REMOTE_TIME": "yes"])
    let before = Glibc.time(nil)
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect((before - 1...Glibc.time(nil)).contains(Self.time(place, "f")))
    #expect(try await place.dlm("get", origin.url("/f")).errorText.contains("up to date: 1 file"))
  }

  /// A part that is gone on from, and a file that stood there already with the same bytes.
  @Test func resumedAndAdopted() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 3 << 20, seed: 1)
    origin.route("/f", .file(body, FileOptions(ending: .close(after: 2 << 20))), .file(body))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "--retries", "0").status == 75)
    let resumed = try await place.dlm("get", origin.url("/f"), "--remote-time")
    #expect(resumed.errorText.contains("resumed"), "\(resumed.errorText)")
    #expect(Self.time(place, "f") == Self.remote)

    origin.route("/g", .file([4, 5, 6]))
    _ = try place.folder.write([4, 5, 6], to: "work/g")
    let adopted = try await place.dlm("get", origin.url("/g"), "--remote-time")
    #expect(adopted.errorText.contains("identical to the existing file"), "\(adopted.errorText)")
    #expect(Self.time(place, "g") == Self.remote)
    #expect(try await place.dlm("get", origin.url("/g")).errorText.contains("up to date: 1 file"))
    #expect(try place.names() == ["f", "g"])
  }

  /// nginx's time of a file, over several connections.
  @Test func fetchedInParts() async throws {
    let server = try await NginxServer(serverLines: ["location /slow/ { limit_rate 1m; }"])
    defer { server.stop() }
    let body = SplitMix64.bytes(count: 6 << 20, seed: 3)
    try server.write(body, to: "slow/f")
    var times = [timespec(tv_sec: Self.remote, tv_nsec: 0), timespec(tv_sec: Self.remote, tv_nsec: 0)]
    #expect(utimensat(AT_FDCWD, server.documentRoot + "/slow/f", &times, 0) == 0)
    let place = try Workplace()
    let run = try await place.dlm("get", server.url("/slow/f"), "--remote-time", "-s", "4")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == body)
    #expect(Self.time(place, "f") == Self.remote)
    #expect(try await server.accessLog(atLeast: 2).contains { $0.status == 206 })
    #expect(try await place.dlm("get", server.url("/slow/f")).errorText.contains("up to date: 1 file"))
  }
}

extension Workplace {
  fileprivate static func again(
    _ place: Workplace, _ url: String, _ options: [String]
  ) async throws -> CommandResult { try await place.start(["get", url] + options).waitForExit() }
}
