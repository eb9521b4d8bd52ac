import Foundation
import TestSupport
import Testing

@Suite("Disks that are full, read-only or gone; and durable names")
struct DiskTests {
  /// A tmpfs of some MiB as the output folder, mounted in a name space of the run's own: it goes with the
  /// run.
  private static func run(
    _ place: Workplace, onDiskOf size: String, _ arguments: [String], then: String = "true"
  )
    async throws -> CommandResult
  {
    let dlm = try DLMExecutable.path()
    let script = """
      mkdir -p out && mount -t tmpfs -o size=\(size) tmpfs out && { "$0" "$@"; status=$?; }; \(then); exit $status
      """
    return try await place.start("unshare", ["-Urm", "sh", "-c", script, dlm] + arguments).waitForExit()
  }

  /// Known before the first byte: the file does not start, the others arrive.
  @Test(.enabled(if: NameSpace.isAllowed))
  func aFileThatDoesNotFit() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/big", .file(SplitMix64.bytes(count: 6 << 20, seed: 1)))
    origin.route("/small", .file([1, 2, 3]))
    let place = try Workplace()
    let run = try await Self.run(
      place, onDiskOf: "4m", ["get", "-d", "out", origin.url("/big"), origin.url("/small")], then: "ls out")
    #expect(run.status == 74, "\(run.errorText)")
    #expect(run.outputText == "small\n", "\(run.outputText)")
    #expect(run.errorText.contains("the disk is full"), "\(run.errorText)")
    #expect(run.errorText.contains("free at least 2.0 MiB"), "\(run.errorText)")
    #expect(run.errorText.contains(origin.url("/big")), "\(run.errorText)")
    #expect(try #require(origin.record.bodyBytesSent["/big"]) < 6 << 20)
  }

  /// Each alone would fit: they know of each other.
  @Test(.enabled(if: NameSpace.isAllowed))
  func twoThatDoNotFitTogether() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    let body = SplitMix64.bytes(count: 3 << 20, seed: 2)
    for name in ["/a", "/b"] {
      origin.route(name, .file(body, FileOptions(ending: .stall(after: 1 << 20, until: gate))), .file(body))
    }
    let place = try Workplace()
    async let running = Self.run(
      place, onDiskOf: "5m", ["get", "-d", "out", origin.url("/a"), origin.url("/b")], then: "ls out")
    try await origin.wait(for: "one of them to be refused") { $0.log.count == 2 && $0.connectionsOpen == 1 }
    gate.open()
    let run = try await running
    #expect(run.status == 74, "\(run.errorText)")
    #expect(["a\n", "b\n"].contains(run.outputText), "\(run.outputText)")
    #expect(run.errorText.contains("beside the files that are under way"), "\(run.errorText)")
  }

  /// Of unknown length: the downloaded part is saved, the rest of the list is not tried in vain.
  @Test(.enabled(if: NameSpace.isAllowed))
  func fullInTheMiddle() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let endless = FileOptions(etag: "\"v\"", framing: .chunked(size: 65_536))
    origin.route("/endless", .file(SplitMix64.bytes(count: 6 << 20, seed: 3), endless))
    for index in 0..<50 { origin.route("/f\(index)", .file([1])) }
    let place = try Workplace()
    _ = try place.list(["/endless"].map { origin.url($0) } + (0..<50).map { origin.url("/f\($0)") })
    let run = try await Self.run(
      place, onDiskOf: "4m", ["get", "-m", "sequential", "-d", "out", "urls.txt"],
      then: "ls out; stat -c %s out/endless.part")
    #expect(run.status == 74, "\(run.errorText)")
    let lines = run.outputText.split(separator: "\n")
    #expect(lines.prefix(2) == ["endless.part", "endless.part.json"], "\(run.outputText)")
    #expect(try #require(lines.last.flatMap { Int($0) }) > 3 << 20, "\(run.outputText)")
    #expect(run.errorText.contains("50 more were not started"), "\(run.errorText)")
    #expect(origin.log.count == 1)
  }

  /// A body that is short as it comes fills the disk once decoded. Nothing of it could be gone on with, so it
  /// goes, and the others come.
  @Test(.enabled(if: NameSpace.isAllowed))
  func fullOfWhatIsDecoded() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let made = try await CommandRun.result(of: "sh", ["-c", "head -c 32M /dev/zero | gzip -9"])
    origin.route("/zeros", .file(made.output, FileOptions(headers: ["Content-Encoding: gzip"])))
    for index in 0..<20 { origin.route("/f\(index)", .file(SplitMix64.bytes(count: 100_000, seed: 5))) }
    let place = try Workplace()
    _ = try place.list((["/zeros"] + (0..<20).map { "/f\($0)" }).map { origin.url($0) })
    let run = try await Self.run(
      place, onDiskOf: "6m", ["get", "-m", "sequential", "-d", "out", "urls.txt"], then: "ls out")
    #expect(run.status == 74, "\(run.errorText)")
    #expect(run.errorText.contains("the disk is full"), "\(run.errorText)")
    #expect(run.errorText.contains(origin.url("/zeros")), "\(run.errorText)")
    let names = run.outputText.split(separator: "\n").map(String.init)
    #expect(names == (0..<20).map { "f\($0)" }.sorted(), "\(run.outputText)")
  }

  @Test func aFileWhereAFolderShouldBe() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write([1], to: "work/out")
    let run = try await place.dlm("get", "-d", "out", origin.url("/f"))
    #expect(run.status == 73)
    #expect(run.errorText.contains("out") && run.errorText.contains("Not a directory"), "\(run.errorText)")
  }

  /// Each run once ended by SIGBUS, without a word, as long as the user's home was full.
  @Test(.enabled(if: NameSpace.isAllowed), arguments: [0, 8, 20, 24])
  func aHomeWithoutRoom(free: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["/a", "/b"] { origin.route(name, .file([1, 2, 3])) }
    let place = try Workplace()
    let home = place.folder.path("home")
    let script = """
      mkdir -p \(home) && mount -t tmpfs -o size=\(free + 4)k tmpfs \(home) && echo 1 > \(home)/fill && \
      exec "$0" get \(origin.url("/a")) \(origin.url("/b"))
      """
    let run = try await place.start("unshare", ["-Urm", "sh", "-c", script, try DLMExecutable.path()]).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names() == ["a", "b"])
    let words = "home/state/dlm cannot be written (No space left on device), so other runs could not see"
    #expect(run.errorText.contains(words) == (free < 24), "\(run.errorText)")
  }

  @Test(.enabled(if: NameSpace.isAllowed))
  func aReadOnlyFolder() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let script = """
      mkdir -p out && mount -t tmpfs -o ro tmpfs out && exec "$0" get -d out \(origin.url("/f"))
      """
    let run = try await place.start(
      "unshare", ["-Urm", "sh", "-c", script, try DLMExecutable.path()]
    ).waitForExit()
    #expect(run.status == 73, "\(run.errorText)")
    #expect(run.errorText.contains("Read-only file system"), "\(run.errorText)")
  }

  /// The folder goes away while files are under way.
  @Test func aVanishedFolder() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route("/f", .file([1, 2], FileOptions(ending: .stall(after: 1, until: gate))))
    let place = try Workplace()
    let run = try place.start(["get", "-d", "out", origin.url("/f"), "--retries", "0"])
    try await origin.wait(path: "/f", bodyBytesSent: 1)
    try FileManager.default.removeItem(atPath: "\(place.work)/out")
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 73, "\(result.errorText)")
    #expect(result.errorText.contains("the folder cannot be used"), "\(result.errorText)")
  }

  /// `--fsync`: the data before the name, the name before "done".
  @Test func durable() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: 2 << 20, seed: 4)
    origin.route("/f", .file(body))
    let place = try Workplace()
    let run = try await place.start(
      "strace",
      [
        "-f", "-e", "trace=fsync,fdatasync,linkat,rename,renameat", try DLMExecutable.path(), "get",
        "--fsync",
        "--no-cache", "-q", origin.url("/f"),
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("f") == body)
    let lines = run.errorText.split(separator: "\n")
    let data = try #require(lines.firstIndex { $0.contains("fdatasync(") })
    let name = try #require(lines.firstIndex { $0.contains("linkat(") && $0.contains("\"f\"") })
    let folder = try #require(
      lines[name...].firstIndex { $0.contains("fsync(") && !$0.contains("fdatasync") })
    #expect(data < name && name < folder)
  }
}
