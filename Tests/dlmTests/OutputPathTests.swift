import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Where --output puts a file: a name, a path, or standard output", .serialized)
struct OutputPathTests {
  private static let body = SplitMix64.bytes(count: 3_000_000, seed: 12)

  private static func origin() throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    origin.route("/f", .file(body, FileOptions(etag: "\"1\"", revalidates: true)))
    return origin
  }

  // MARK: Paths

  /// A path is its folder as --directory and its last part as the name, whoever of the two says it.
  @Test func aPathIsFolderAndName() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let absolute = place.folder.path("elsewhere/y")
    for (arguments, path) in [
      (["-o", "sub/deep/x"], "work/sub/deep/x"), (["-o", absolute], "elsewhere/y"),
      (["-d", "base", "-o", "sub/z"], "work/base/sub/z"), (["-d", "base", "-o", "../up"], "work/up"),
      (["-d", "base", "-o", absolute + "2"], "elsewhere/y2"), (["-o", "./-"], "work/-"),
      // A slash and a combining mark behind it are one Character, and still two names.
      (["-o", "sub/\u{301}x"], "work/sub/\u{301}x"),
    ] {
      let run = try await place.start(["get", origin.url("/f")] + arguments).waitForExit()
      #expect(run.status == 0, "\(arguments): \(run.errorText)")
      #expect(try place.folder.read(path) == Self.body, "\(arguments)")
    }
    // Which file it is: address, folder and name, however they were said (HTTP rule 30).
    for arguments in [["-o", "sub/deep/x"], ["-d", "sub/deep", "-o", "x"], ["-d", "sub", "-o", "deep/x"]] {
      let again = try await place.start(["get", origin.url("/f")] + arguments).waitForExit()
      #expect(again.errorText.contains("up to date: 1 file"), "\(arguments): \(again.errorText)")
    }
    #expect(try place.names(in: "sub/deep") == ["x"])
  }

  /// The last part is never followed where it is a link; folders on the way are, as with --directory.
  @Test func links() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.folder.write([1], to: "work/real/target")
    #expect(symlink("real", "\(place.work)/folder") == 0)
    #expect(symlink("real/target", "\(place.work)/name") == 0)
    #expect(try await place.dlm("get", origin.url("/f"), "-o", "folder/x").status == 0)
    #expect(try place.file("real/x") == Self.body)
    #expect(try await place.dlm("get", origin.url("/f"), "-o", "name").status == 1)
    #expect(try place.names() == ["folder", "name", "real"])
    #expect(try await place.dlm("get", origin.url("/f"), "-o", "name", "--on-conflict", "overwrite").status == 0)
    #expect(try place.file("real/target") == [1])
    #expect(try place.file("name") == Self.body)
  }

  /// A script went on with the old image: dlm had written out.1.iso beside it, with status 0.
  @Test(arguments: [["-o", "out.iso", "/f"], ["list"]])
  func theNameIsExact(how: [String]) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.folder.write([1], to: "work/out.iso")
    _ = try place.list(["\(origin.url("/f"))\tout=out.iso"])
    let arguments = how == ["list"] ? ["urls.txt"] : how.map { $0 == "/f" ? origin.url($0) : $0 }
    func get(_ more: String...) async throws -> CommandResult {
      try await place.start(["get", "-q"] + arguments + more).waitForExit()
    }
    let refused = try await get()
    #expect(refused.status == 1 && refused.errorText.contains("a file of this name exists (out.iso)"))
    #expect(refused.errorText.contains("to replace it: --on-conflict overwrite"), "\(refused.errorText)")
    let plan = try await place.start(["get", "--dry-run"] + arguments).waitForExit()
    #expect(plan.outputText.hasSuffix("\tfail\n"), "\(plan.outputText)")
    // What the user says counts.
    #expect(try await get("--on-conflict", "rename").status == 0)
    #expect(try place.file("out.1.iso") == Self.body && place.file("out.iso") == [1])
    // A number of the past is no answer to an exact name, and what is said later has its effect.
    #expect(try await get().status == 1)
    #expect(try place.names() == ["out.1.iso", "out.iso", "urls.txt"])
    let skipped = try await get("--on-conflict", "skip", "--no-compare", "--summary-json", "-")
    #expect(skipped.status == 0 && skipped.outputText.contains("\"skipped\":1"), "\(skipped.outputText)")
    #expect(try place.file("out.iso") == [1])
    #expect(try await get("--on-conflict", "overwrite").status == 0)
    #expect(try place.file("out.iso") == Self.body)
    #expect(try await get().status == 0)
    #expect(try place.names() == ["out.1.iso", "out.iso", "urls.txt"])
  }

  /// The file of another URL gives way like any other.
  @Test func anotherAddressHadTheName() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    origin.route("/g", .file([1, 2, 3]))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "-o", "x").status == 0)
    #expect(try await place.dlm("get", origin.url("/g"), "-o", "x").status == 1)
    #expect(try place.file("x") == Self.body)
    #expect(try await place.dlm("get", origin.url("/g"), "-o", "x", "--on-conflict", "overwrite").status == 0)
    #expect(try place.file("x") == [1, 2, 3] && place.names() == ["x"])
  }

  @Test(arguments: [
    (["-o", "sub"], "--directory sub"), (["-o", "sub/"], "--directory sub"), (["-o", "."], "--directory ."),
    (["-d", "sub", "-o", "deep"], "--directory sub/deep"), (["-o", "new/"], "--directory new"),
    (["-o", "x.part.json"], "unfinished files"), (["-o", "/dev/null"], "--output - and > DEVICE"),
    (["-o", "-", "--progress", "json"], "--events FILE"), (["-o", "-", "--events", "-"], "fd:3"),
    (["-o", "-", "--failed", "-"], "fd:3"), (["-o", "-", "--summary-json", "/dev/stdout"], "fd:3"),
    (["-o", "-", "--watch", "--refresh-every", "9m"], "one of the two"), (["-o", "-", "http://b/"], "--directory"),
  ])
  func refusals(_ arguments: [String], _ words: String) async throws {
    let place = try Workplace()
    for folder in ["work/sub", "work/sub/deep"] { try place.folder.makeFolder(folder) }
    let run = try await place.start(["get", "http://127.0.0.1:9/x"] + arguments).waitForExit()
    #expect(run.status == 64, "\(run.errorText)")
    #expect(run.errorText.contains(words), "\(run.errorText)")
    #expect(run.output.isEmpty)
    #expect(try place.names() == ["sub"])
  }

  // MARK: Standard output

  private static func streams(_ origin: FaultyOrigin, _ more: String...) async throws -> (CommandResult, Workplace) {
    let folder = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": folder.path])
    let run = try await place.start(["get", "-o", "-", origin.url("/f")] + more).waitForExit()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "the scratch folder is gone")
    #expect(try place.names().isEmpty)
    return (run, place)
  }

  /// Each byte goes out once, whatever the way breaks off, and in parts or not.
  @Test(arguments: [[], ["-s", "1"], ["--no-cache"], ["-q"]])
  func eachByteOnce(options: [String]) async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let whole = FileOptions(etag: "\"1\"")
    let cut = FileOptions(etag: "\"1\"", ending: .reset(after: 1_700_000))
    origin.route(
      "/f", .file(Self.body, cut), .status(503, headers: ["Retry-After: 1"]), .file(Self.body, cut),
      .file(Self.body, whole))
    let folder = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": folder.path])
    let run = try await place.start(["get", "-o", "-", origin.url("/f")] + options).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.output == Self.body)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    // The folder's own list is still what `dlm get` takes again: nothing of this run is remembered.
    #expect(try await place.dlm("get").status == 64)
    #expect(try await place.dlm("cache", "list").output.isEmpty)
  }

  /// Bytes go out while the rest is still to come.
  @Test func whileItComes() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route(
      "/f", .file(Self.body, FileOptions(etag: "\"1\"", ending: .stall(after: 2_000_000, until: gate))))
    let place = try Workplace()
    let run = try place.start(["get", "-o", "-", "-s", "1", origin.url("/f")])
    try await run.wait(forOutputBytes: 1_900_000)
    #expect(!run.hasEnded)
    gate.open()
    let end = try await run.waitForExit()
    #expect(end.status == 0, "\(end.errorText)")
    #expect(end.output == Self.body)
  }

  /// What was written cannot be taken back: a file that has changed meanwhile fails.
  @Test func itHasChanged() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let gate = try Gate()
    origin.route(
      "/f", .file(Self.body, FileOptions(etag: "\"1\"", ending: .stall(after: 1_500_000))),
      .late(Array(Self.body.reversed()), until: gate))
    let place = try Workplace()
    let run = try place.start(["get", "-o", "-", "-s", "1", "--stall-timeout", "3", origin.url("/f")])
    try await run.wait(forOutputBytes: 1_000_000)
    gate.open()
    let end = try await run.waitForExit()
    #expect(end.status == 1, "\(end.errorText)")
    #expect(end.errorText.contains("its first bytes were passed on"), "\(end.errorText)")
    #expect(end.errorText.contains("run the same command again: the file has changed"), "\(end.errorText)")
    #expect(Self.body.starts(with: end.output))
  }

  /// A checksum is compared before a byte goes out.
  @Test func aWrongChecksum() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let (right, _) = try await Self.streams(
      origin, "--checksum", "\(ContentHasher.digest(of: Self.body))", "--summary-json", "/dev/stderr")
    #expect(right.status == 0 && right.output == Self.body, "\(right.errorText)")
    let (wrong, _) = try await Self.streams(origin, "--checksum", "sha256:" + String(repeating: "0", count: 64))
    #expect(wrong.status == 1)
    #expect(wrong.output.isEmpty)
    #expect(wrong.errorText.contains("checksum mismatch"), "\(wrong.errorText)")
    #expect(!wrong.errorText.contains(".rejected"), "\(wrong.errorText)")
  }

  /// It goes quietly, as cat does.
  @Test func theReaderGoes() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let script = "\"$0\" get -o - \"$1\" 2>errors | head -c 7; printf ' %s' \"${PIPESTATUS[0]}\""
    let run = try await place.start("bash", ["-c", script, try DLMExecutable.path(), origin.url("/f")]).waitForExit()
    #expect(run.output == Self.body.prefix(7) + Array(" 141".utf8))
    #expect(try place.file("errors").isEmpty)
  }

  @Test func aFullDisk() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let run = try await place.start(
      "sh", ["-c", "\"$0\" get -o - \"$1\" > /dev/full", try DLMExecutable.path(), origin.url("/f")]
    ).waitForExit()
    #expect(run.status == 74, "\(run.errorText)")
    #expect(run.errorText.contains("No space left"), "\(run.errorText)")
  }

  /// A reader that takes nothing holds up neither the download nor the first Ctrl-C.
  @Test func aReaderThatWaits() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let folder = try TemporaryFolder()
    let place = try Workplace(["TMPDIR": folder.path])
    #expect(mkfifo("\(place.work)/go", 0o600) == 0)
    let script = "\"$0\" get -o - \"$1\" & echo $! > pid; wait $!; echo $? > status"
    let run = try place.start(
      "sh", ["-c", "(\(script)) | (read -r never < go; cat > /dev/null)", try DLMExecutable.path(), origin.url("/f")])
    try await origin.wait(path: "/f", bodyBytesSent: Self.body.count)
    let number = String(decoding: try place.file("pid"), as: UTF8.self).trimmingCharacters(in: .newlines)
    #expect(kill(try #require(pid_t(number)), SIGTERM) == 0)
    try await place.wait(forSize: 4, of: "status")
    #expect(try place.file("status") == Array("143\n".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    _ = try await place.start("sh", ["-c", "echo > go"]).waitForExit()
    _ = try await run.waitForExit()
  }
}
