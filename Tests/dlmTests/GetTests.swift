import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("dlm get: the list arrives whole in every mode, and is not fetched again", .serialized)
struct GetTests {
  private static let count = 300

  private func content(_ index: Int) -> [UInt8] {
    SplitMix64.bytes(count: [0, 1, 4096, 20_000, 150_000][index % 5] + index, seed: UInt64(index))
  }

  @Test(arguments: DownloadMode.allCases, [false, true])
  func nginx(mode: DownloadMode, overTLS: Bool) async throws {
    let server = try await NginxServer()
    defer { server.stop() }
    let place = try Workplace()
    for index in 0..<Self.count { try server.write(content(index), to: "f\(index).bin") }
    let addresses = (0..<Self.count).map {
      overTLS ? server.tlsURL("/f\($0).bin") : server.url("/f\($0).bin")
    }
    _ = try place.list(addresses)

    let first = try await place.dlm(
      "get", "urls.txt", "-d", "out", "-m", mode.rawValue, "--cacert", server.caCertificatePath)
    #expect(first.status == 0, "\(first.errorText)")
    #expect(first.outputText.isEmpty)
    for index in 0..<Self.count { #expect(try place.file("out/f\(index).bin") == content(index)) }
    #expect(try place.names(in: "out").count == Self.count)
    let cold = try await server.accessLog(atLeast: Self.count)
    let served = cold.filter { $0.status == 200 }
    #expect(Set(served.map(\.target)).count == Self.count)
    // On a machine that is busy with other tests a request may be asked a second time over a warm connection.
    #expect(served.count <= Self.count + 8)
    if mode == .sequential { #expect(Set(cold.map(\.connection)).count == 1) }

    try server.clearLog()
    let second = try await place.dlm(
      "get", "urls.txt", "-d", "out", "-m", mode.rawValue, "--cacert", server.caCertificatePath)
    #expect(second.status == 0, "\(second.errorText)")
    #expect(second.errorText.contains("up to date: 300 files"), "\(second.errorText)")
    let warm = try await server.accessLog(atLeast: Self.count)
    #expect(warm.allSatisfy { $0.status == 304 && $0.bodyBytes == 0 })
    #expect(try place.names(in: "out").count == Self.count)
  }

  @Test func aChangedFileIsFetchedAndReplaced() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route(
      "/f", .file([1, 2, 3], FileOptions(etag: "\"v1\"")), .file([4, 5], FileOptions(etag: "\"v2\"")))
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try place.file("f") == [4, 5])
    #expect(try place.names() == ["f"])
  }

  @Test func aFileThatDlmDidNotWriteIsKept() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f.txt", .file([1, 2, 3]))
    _ = try place.folder.write([9], to: "work/f.txt")
    let run = try await place.dlm("get", origin.url("/f.txt"))
    #expect(run.status == 0)
    #expect(try place.file("f.txt") == [9])
    #expect(try place.file("f.1.txt") == [1, 2, 3])
    #expect(run.errorText.contains("f.1.txt"), "\(run.errorText)")
  }

  @Test(arguments: DownloadMode.allCases)
  func twoAddressesWithOneNameBothSurvive(mode: DownloadMode) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/a/f.txt", .file([1]))
    origin.route("/b/f.txt", .file([2]))
    let list = try place.list([origin.url("/a/f.txt"), origin.url("/b/f.txt")])
    #expect(try await place.dlm("get", list, "-m", mode.rawValue).status == 0)
    #expect(Set([try place.file("f.txt"), try place.file("f.1.txt")]) == [[1], [2]])
    #expect(try await place.dlm("get", list, "-m", mode.rawValue).status == 0)
    #expect(try place.names() == ["f.1.txt", "f.txt", "urls.txt"])
  }

  @Test func namesComeFromTheServerOrTheUser() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let named = FileOptions(headers: ["Content-Disposition: attachment; filename=\"../../report 1.pdf\""])
    origin.route("/download?id=7", .file([1, 2], named))
    #expect(try await place.dlm("get", origin.url("/download?id=7")).status == 0)
    #expect(try place.names() == ["report 1.pdf"])
    #expect(try await place.dlm("get", "-o", "mine.pdf", origin.url("/download?id=7")).status == 0)
    #expect(try place.file("mine.pdf") == [1, 2])
    #expect(
      try await place.dlm("get", "--no-cache", "--no-content-disposition", origin.url("/download?id=7"))
        .status == 0)
    #expect(try place.file("download") == [1, 2])
  }

  @Test func equalAddressesAreOneTransfer() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f", .file([1, 2, 3]))
    let list = try place.list(Array(repeating: origin.url("/f"), count: 20))
    let run = try await place.dlm("get", list)
    #expect(run.status == 0)
    #expect(origin.log.count == 1)
    #expect(try place.names() == ["f", "urls.txt"])
  }

  @Test func standardInputAndTheSameListAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/a", .file([1]))
    origin.route("/b", .file([2]))
    let text = "\u{FEFF}# two\r\n\r\n  \(origin.url("/a"))  \r\n\(origin.url("/b"))"
    let run = try await place.dlm("get", "-", input: Array(text.utf8))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names() == ["a", "b"])
    // Without a source: the list that came through the pipe, whatever standard input is. (It was once kept,
    // then emptied.)
    let again = try await place.dlm(
      "get", "-m", "async-let", "--no-compare", input: Array("http://x/\n".utf8))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
    #expect(origin.log.count == 4)
  }

  @Test func settingsComeFromFileAndEnvironment() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace(["DLM_USER_AGENT": "from-environment"])
    origin.route("/a", .file([1]))
    _ = try place.folder.write(Array("jobs = 3\nuser-agent = from-file\n".utf8), to: "work/.dlm.conf")
    _ = try place.folder.write(
      Array("directory = here\njobs = many\n".utf8), to: "home/config/dlm/dlm.conf")
    #expect(try await place.dlm("get", origin.url("/a")).status == 0)
    #expect(try place.file("here/a") == [1])
    #expect(origin.log.last?.headers["user-agent"] == "from-environment")
    #expect(
      try await place.dlm("get", "--refresh", "--user-agent", "from-option", origin.url("/a")).status == 0)
    #expect(origin.log.last?.headers["user-agent"] == "from-option")
    _ = try place.folder.write(Array("jobs = many\n".utf8), to: "work/.dlm.conf")
    let bad = try await place.dlm("get", origin.url("/a"))
    #expect(bad.status == 64)
    #expect(bad.errorText.contains("\"many\" is not a value for jobs"), "\(bad.errorText)")
  }

  /// By a name that libcurl must look up in a thread of its own, which all other tests do without. It once
  /// ended every such run: libcurl closes the resolver's sockets without a word, and their numbers come back
  /// as connections.
  @Test(.enabled(if: NameSpace.isAllowed), arguments: ["sequential", "async-let", "parallel"])
  func byName(mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let bodies = (0..<40).map { SplitMix64.bytes(count: 50_000, seed: UInt64($0)) }
    let place = try Workplace()
    let names = ["one.test", "two.test", "three.test"]
    _ = try place.folder.write(Array("127.0.0.1 \(names.joined(separator: " "))\n".utf8), to: "hosts")
    for (index, body) in bodies.enumerated() { origin.route("/f\(index)", .file(body)) }
    var lines = bodies.indices.map { origin.url("/f\($0)").replacing("127.0.0.1", with: names[$0 % 3]) }
    lines.insert("http://no-such-host.invalid/x", at: 20)
    _ = try place.list(lines)
    let script = #"mount --bind "$0" /etc/hosts && exec "$@""#
    let run = try await place.start(
      "unshare",
      [
        "-Urm", "sh", "-c", script, place.folder.path("hosts"), try DLMExecutable.path(), "get", "urls.txt",
        "-m", mode, "-d", "out", "--retries", "0",
      ]
    ).waitForExit()
    #expect(run.status == 75, "\(run.errorText)")
    #expect(run.errorText.contains("40 files"), "\(run.errorText)")
    for (index, body) in bodies.enumerated() { #expect(try place.file("out/f\(index)") == body) }
  }

  /// The very bytes stand there already, and nobody knows any more that dlm wrote them: no copy is made
  /// beside them.
  @Test func theSameBytesAreThere() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let bodies = [[], [1, 2, 3], SplitMix64.bytes(count: 2_000_000, seed: 5)]
    for (index, body) in bodies.enumerated() { origin.route("/f\(index)", .file(body)) }
    let place = try Workplace()
    let urls = bodies.indices.map { origin.url("/f\($0)") }
    #expect(try await place.start(["get"] + urls).waitForExit().status == 0)
    #expect(try await place.dlm("clear-cache").status == 0)
    let again = try await place.start(["get"] + urls).waitForExit()
    #expect(again.errorText.contains("3 of them identical to the existing file"), "\(again.errorText)")
    let bare = try await place.start(["get", "--no-cache"] + urls).waitForExit()
    #expect(bare.errorText.contains("3 of them identical to the existing file"), "\(bare.errorText)")
    #expect(try place.names() == ["f0", "f1", "f2"])
    // Known again, they are not fetched any more; a byte more or less makes another file.
    let known = origin.log.count
    #expect(try await place.start(["get"] + urls).waitForExit().status == 0)
    #expect(origin.log.dropFirst(known).allSatisfy { $0.headers["if-none-match"] != nil })
    _ = try place.folder.write([1, 2, 4], to: "work/f1")
    #expect(try await place.start(["get", "--no-cache", urls[1]]).waitForExit().status == 0)
    #expect(try place.names() == ["f0", "f1", "f1.1", "f2"])
  }

  /// `dlm URL` and `dlm LIST`.
  @Test func withoutACommand() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    origin.route("/b", .file([2]))
    let place = try Workplace()
    let address = try await place.dlm(origin.url("/a"), "-d", "out")
    #expect(address.status == 0, "\(address.errorText)")
    _ = try place.list([origin.url("/b")])
    let list = try await place.dlm("urls.txt", "-dout")
    #expect(list.status == 0, "\(list.errorText)")
    #expect(try place.names(in: "out") == ["a", "b"])
    #expect(try await place.dlm("ulrs.txt").status == 64)
  }
}
