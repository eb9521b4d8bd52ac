import Glibc
import TestSupport
import Testing

@Suite("file: URLs, which only the user may name")
struct LocalFileTests {
  private static let body = SplitMix64.bytes(count: 300_000, seed: 41)

  @Test(arguments: ["file://", "file://localhost", "FILE://LocalHost"]) func filesOfThisMachine(start: String)
    async throws
  {
    let place = try Workplace()
    let source = try TemporaryFolder()
    try source.write(Self.body, to: "a b?#.bin")
    try source.write([], to: "empty")
    let urls = [start + source.path("a%20b%3F%23.bin"), start + source.path("empty")]
    let run = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/a b?#.bin") == Self.body && place.file("out/empty") == [])
    let again = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(again.status == 0 && again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
    try source.write(Self.body + [1], to: "a b?#.bin")
    let changed = try await place.dlm(["get", "-d", "out"] + urls)
    #expect(changed.status == 0, "\(changed.errorText)")
    #expect(try place.file("out/a b?#.bin") == Self.body + [1])
  }

  @Test func aListOfThem() async throws {
    let place = try Workplace()
    let source = try TemporaryFolder()
    try source.write(Self.body, to: "f")
    try source.write(Array("file://\(source.path("f"))\n".utf8), to: "list")
    let run = try await place.dlm("get", "--list", "file://\(source.path("list"))", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    let own = try await place.dlm("get", source.path("list"), "-d", "own")
    #expect(own.status == 0, "\(own.errorText)")
    #expect(try place.file("out/f") == Self.body && place.file("own/f") == Self.body)
  }

  /// A pipe would block, and a device never end.
  @Test(arguments: ["none", "folder", "pipe", "/dev/zero", "//other.example/f"]) func whatIsNoFile(name: String)
    async throws
  {
    let place = try Workplace()
    let source = try TemporaryFolder()
    mkdir(source.path("folder"), 0o755)
    mkfifo(source.path("pipe"), 0o600)
    let url = name.hasPrefix("//") ? "file:\(name)" : "file://" + (name.hasPrefix("/") ? name : source.path(name))
    let run = try await place.dlm("get", url, "--retries", "0")
    #expect(run.status != 0 && !run.errorText.isEmpty, "\(run.errorText)")
    #expect(try place.names().isEmpty)
  }

  /// A server's list, redirect or Metalink chooses no file of this machine.
  @Test(arguments: ["list", "redirect", "mirror"]) func aServerNamesNone(by way: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let source = try TemporaryFolder()
    try source.write(Self.body, to: "secret")
    let local = "file://\(source.path("secret"))"
    origin.route("/list", .file(Array("\(local)\n".utf8)))
    origin.route("/redirect", .redirect(302, to: local))
    origin.route("/gone", .status(404))
    let mirror =
      "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"f\"><url>\(origin.url("/gone"))</url>"
    origin.route("/mirror", .file(Array((mirror + "<url>\(local)</url></file></metalink>").utf8)))
    let words = way == "redirect" ? [origin.url("/redirect")] : ["--list", origin.url("/\(way)")]
    let run = try await place.dlm(["get"] + words)
    #expect(run.status == 1, "\(run.errorText)")
    #expect(try place.names().isEmpty, "\(run.errorText)")
  }
}
