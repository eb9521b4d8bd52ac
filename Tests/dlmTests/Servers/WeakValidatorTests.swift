import Glibc
import TestSupport
import Testing

/// From Apache, whose tags are weak in the second of a file's change, and from whatever stands before a
/// server and compresses, 80 of 80 MiB came again, where a server without any validator resumed.
@Suite("Weak validators resume as no validator does (HTTP rule 34)")
struct WeakValidatorTests {
  private static let size = 24 << 20
  private static let body = SplitMix64.bytes(count: size, seed: 34)

  private static func apache(_ folder: TemporaryFolder) async throws -> LoopbackServer {
    _ = try folder.write(body, to: "root/large.bin")
    return try await .apache(
      modules: ["ratelimit", "env"],
      lines: [
        "Header edit ETag ^\\\" W/\\\"", "<Directory \"\(folder.path("root"))\">",
        "SetOutputFilter RATE_LIMIT",
        "SetEnv rate-limit 4096", "</Directory>", "CustomLog access.log seen",
      ], folder: folder)
  }

  private static func length(_ path: String) -> Int {
    var status = stat()
    return lstat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  @Test func apacheAndSIGKILL() async throws {
    let folder = try TemporaryFolder()
    let server = try await Self.apache(folder)
    defer { server.stop() }
    let place = try Workplace()
    let run = try place.start(["get", server.url("/large.bin")])
    try await place.wait(forSize: 8 << 20, of: "large.bin.part", toSend: SIGKILL, to: run)
    _ = try await run.waitForExit()
    let there = Self.length("\(place.work)/large.bin.part")
    #expect(there < Self.size)

    let again = try await place.dlm("get", server.url("/large.bin"))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(try place.file("large.bin") == Self.body)
    #expect(again.errorText.contains("resumed"), "\(again.errorText)")
    // The killed run's line comes when Apache notices.
    let sent = try await Self.bytes(of: "206", folder)
    #expect(sent <= Self.size - there + 65_536 + 4096, "\(sent) sent, \(Self.size - there) missing")
    #expect(try await place.dlm("get", server.url("/large.bin")).errorText.contains("up to date: 1 file"))
  }

  /// Bytes that were sent in the one answer of a status, head included.
  private static func bytes(of status: String, _ folder: TemporaryFolder) async throws -> Int {
    for _ in 0..<6000 {
      let log = String(decoding: (try? folder.read("access.log")) ?? [], as: UTF8.self)
      let words = log.split(separator: "\n").map { $0.split(separator: " ") }
      if let line = words.first(where: { $0.first == status[...] }), let sent = Int(line[1]) { return sent }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw SupportFailure("no answer \(status) in the log")
  }

  /// The same tag and length, and other bytes: the tail shows it, and the file starts over.
  @Test func aWeakTagThatStaysIsNotBelieved() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let (old, new) = (
      SplitMix64.bytes(count: 3 << 20, seed: 1), SplitMix64.bytes(count: 3 << 20, seed: 2)
    )
    let weak = FileOptions(etag: "W/\"1\"")
    var cut = weak
    cut.ending = .close(after: 2 << 20)
    origin.route("/f", .file(old, cut), .file(new, weak))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f"), "--retries", "0").status == 75)
    #expect(try place.names() == ["f.part", "f.part.json"])
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    #expect(try place.file("f") == new)
    // The bytes that are compared, and then all of it; a weak tag is in no If-Range (RFC 9110 §13.1.5).
    #expect(origin.log.dropFirst().map { $0.headers["range"] } == ["bytes=\((2 << 20) - 65_536)-", nil])
    #expect(origin.log.allSatisfy { $0.headers["if-range"] == nil })
    #expect(try place.names() == ["f"])
  }
}
