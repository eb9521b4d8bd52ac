import Foundation
import TestSupport
import Testing

@Suite("A damaged index is set aside, and costs no file")
struct DamagedIndexTests {
  private static let index = "home/cache/dlm/index.sqlite"

  /// Two hundred files, fetched, and an index without its first page.
  private static func damaged() async throws -> (FaultyOrigin, Workplace, [UInt8]) {
    let (origin, place) = (try FaultyOrigin(), try Workplace())
    for number in 0..<200 {
      origin.route("/f\(number)", .file(Array("body \(number)".utf8), FileOptions(etag: "\"v\(number)\"")))
    }
    _ = try place.list((0..<200).map { origin.url("/f\($0)") })
    #expect(try await place.dlm("get", "urls.txt", "-d", "out").status == 0)
    var bytes = try place.folder.read(index)
    bytes.replaceSubrange(0..<4096, with: [UInt8](repeating: 0x55, count: 4096))
    _ = try place.folder.write(bytes, to: index)
    return (origin, place, bytes)
  }

  @Test func filesAreAdoptedAsTheyAreAskedFor() async throws {
    let (origin, place, bytes) = try await Self.damaged()
    defer { origin.stop() }
    let run = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(run.status == 0)
    #expect(run.errorText.contains("dlm started a new one"), "\(run.errorText)")
    #expect(run.errorText.contains("/home/cache/dlm/index.sqlite.damaged-"), "\(run.errorText)")
    #expect(try place.names(in: "out").count == 200)
    let aside = try place.folder.names(in: "home/cache/dlm").first { $0.contains(".damaged-") }
    #expect(try place.folder.read("home/cache/dlm/\(#require(aside))") == bytes)
    let before = origin.record.bodyBytesSent.values.reduce(0, +)
    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(again.errorText.contains("up to date: 200 files"), "\(again.errorText)")
    #expect(!again.errorText.contains("damaged"), "\(again.errorText)")
    #expect(origin.record.bodyBytesSent.values.reduce(0, +) == before)
  }

  /// 256 KiB whose pages led to each other took 18 GB, when they were still read one by one.
  @Test func aLargeNumberOfNonsenseTakesNoMemory() async throws {
    let (origin, place, _) = try await Self.damaged()
    defer { origin.stop() }
    // Cells, a thousand in a page, each of which says that it goes on for a megabyte in pages that follow each
    // other in a circle.
    var leaf = [UInt8](repeating: 0x61, count: 4096)
    leaf.replaceSubrange(0..<8, with: [0x0A, 0, 0, 0x03, 0xE8, 0, 0, 0])
    for cell in 0..<1000 { (leaf[8 + 2 * cell], leaf[9 + 2 * cell]) = (0x08, 0x34) }
    leaf.replaceSubrange(2100..<2111, with: [0xBD, 0x84, 0x40, 8, 0xF9, 0xF9, 0x3D, 8, 8, 8, 8])
    leaf.replaceSubrange(2592..<2596, with: [0, 0, 0, 33])
    var nonsense = Array("SQLite format 3\0".utf8) + [0x10, 0]
    nonsense += [UInt8](repeating: 0, count: 4096 - nonsense.count)
    for _ in 1..<32 { nonsense += leaf }
    for page in 32..<64 {
      nonsense += [0, 0, 0, UInt8(page == 63 ? 33 : page + 2)] + [UInt8](repeating: 0x61, count: 4092)
    }
    _ = try place.folder.write(nonsense, to: Self.index)
    let run = try await place.start(
      "sh",
      [
        "-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", try DLMExecutable.path(), "get", "urls.txt", "-d",
        "out",
      ]
    ).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 200)
  }

  /// Where nothing can be written, nothing is lost, and the run does without.
  @Test(.enabled(if: NameSpace.isAllowed), arguments: ["size=260k", "ro"])
  func noPlaceForANewOne(option: String) async throws {
    let (origin, place, bytes) = try await Self.damaged()
    defer { origin.stop() }
    let cache = place.folder.path("home/cache/dlm")
    let mount =
      option == "ro"
      ? "mount --bind \(cache) \(cache) && mount -o remount,bind,ro \(cache)"
      : "cp -a \(cache) saved && mount -t tmpfs -o \(option) tmpfs \(cache) && cp -a saved/. \(cache)"
    let script = """
      \(mount); head -c 9M /dev/zero > \(cache)/fill 2>/dev/null; "$0" get urls.txt -d out; s=$?; \
      rm -f \(cache)/fill; ls \(cache); \
      cp \(cache)/index.sqlite.damaged-* seen || cp \(cache)/index.sqlite seen; exit $s
      """
    let run = try await place.start("unshare", ["-Urm", "sh", "-c", script, try DLMExecutable.path()])
      .waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("cannot be used"), "\(run.errorText)")
    #expect(try place.file("seen") == bytes, "\(run.outputText)")
    #expect(try place.names(in: "out").count == 200)
  }
}
