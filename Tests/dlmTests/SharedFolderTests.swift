import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A folder that others write into (HTTP rule 44)")
struct SharedFolderTests {
  private static let body = SplitMix64.bytes(count: 3 << 20, seed: 5)

  private static func permissions(_ place: Workplace, _ name: String) throws -> mode_t {
    var status = stat()
    guard lstat("\(place.work)/\(name)", &status) == 0 else { throw SupportFailure("no \(name)") }
    return status.st_mode & 0o777
  }

  /// Stops a download in its middle.
  private static func interrupt(_ place: Workplace, _ origin: FaultyOrigin, _ prefix: String = "")
    async throws
  {
    let gate = try Gate()
    origin.route("/x", .file(body, FileOptions(ending: .stall(after: 2 << 20, until: gate))), .file(body))
    let run = try place.start(
      "sh",
      ["-c", "\(prefix) exec \"$0\" \"$@\"", try DLMExecutable.path(), "get", "-d", "out", origin.url("/x")])
    try await place.wait(forSize: 1 << 20, of: "out/x.part")
    #expect(try permissions(place, "out/x.part") == 0o600)
    #expect(try permissions(place, "out/x.part.json") == 0o600)
    run.send(SIGKILL)
    _ = try await run.waitForExit()
    gate.open()
  }

  /// A part is the user's alone; what is finished has the permissions of every new file, whether it was one
  /// or not, and in whichever run.
  @Test(arguments: [("022", 0o644), ("002", 0o664), ("077", 0o600)] as [(String, mode_t)])
  func permissions(mask: String, expected: mode_t) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/small", .file([1, 2, 3]))
    origin.route("/large", .file(Self.body))
    let place = try Workplace()
    try await Self.interrupt(place, origin, "umask \(mask);")
    let run = try await place.start(
      "sh",
      [
        "-c", "umask \(mask); exec \"$0\" \"$@\"", try DLMExecutable.path(), "get", "-d", "out",
        origin.url("/x"), origin.url("/small"), origin.url("/large"),
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("resumed"), "\(run.errorText)")
    for name in ["x", "small", "large"] {
      #expect(try Self.permissions(place, "out/\(name)") == expected, "\(name)")
    }
  }

  /// Another user's part, whose record is right in each byte, was continued, and stayed his to write.
  @Test(.enabled(if: geteuid() == 0, "only root can give files to another user"))
  func aPartOfAnotherUser() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    try await Self.interrupt(place, origin)
    for name in ["x.part", "x.part.json"] { #expect(chown("\(place.work)/out/\(name)", 65_534, 65_534) == 0) }
    let (part, record) = (try place.file("out/x.part"), try place.file("out/x.part.json"))
    let run = try await place.dlm("get", "-d", "out", origin.url("/x"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.last?.headers["range"] == nil, "nothing of it is continued")
    #expect(try place.file("out/x") == Self.body)
    #expect(try place.file("out/x.part") == part && place.file("out/x.part.json") == record)
    #expect(try place.names(in: "out") == ["x", "x.part", "x.part.json"])
  }

  /// One that was planted: the planter knows the address, and dlm's format, but not the user's secret.
  @Test func aRecordWithoutTheUsersSeal() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/x", .file(Self.body))
    let place = try Workplace()
    let planted = SplitMix64.bytes(count: 1000, seed: 6)
    try place.folder.write(planted, to: "work/out/x.part")
    try place.folder.write(
      Array(
        """
        { "format" : 1, "address" : "\(origin.url("/x"))", "name" : "x", "held" : { "trust" : { "text" : "" },
          "total" : \(Self.body.count), "isDecoded" : false, "validator" : { "etag" : "\\"v1\\"" } } }
        """.utf8), to: "work/out/x.part.json")
    let run = try await place.dlm("get", "-d", "out", origin.url("/x"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/x") == Self.body, "not one byte of it")
    #expect(try place.file("out/x.part") == planted)
  }
}
