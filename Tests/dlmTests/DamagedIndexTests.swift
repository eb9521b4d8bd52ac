import Foundation
import TestSupport
import Testing

@Suite("A damaged index costs nothing that could still be read in it")
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

  @Test func whatWasReadIsOnlyAskedAbout() async throws {
    let (origin, place, _) = try await Self.damaged()
    defer { origin.stop() }
    let before = origin.record.bodyBytesSent.values.reduce(0, +)
    let run = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(run.status == 0)
    #expect(run.errorText.contains("200 unchanged"), "\(run.errorText)")
    #expect(
      run.errorText.contains("200 of the 200 files that could be read from it stay known"), "\(run.errorText)"
    )
    #expect(run.errorText.contains("/home/cache/dlm/index.sqlite.damaged-"), "\(run.errorText)")
    #expect(origin.record.bodyBytesSent.values.reduce(0, +) == before)
    #expect(try await place.dlm("cache", "verify").status == 0)
    let again = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(!again.errorText.contains("damaged"), "\(again.errorText)")
    #expect(try place.names(in: "out").count == 200)
  }

  /// Where nothing can be written, everything stays as it is, and the run does without.
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
      rm -f \(cache)/fill; ls \(cache); cp \(cache)/index.sqlite seen; exit $s
      """
    let run = try await place.start("unshare", ["-Urm", "sh", "-c", script, try DLMExecutable.path()])
      .waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("cannot be used"), "\(run.errorText)")
    #expect(try place.file("seen") == bytes, "\(run.outputText)")
    #expect(!run.outputText.contains("damaged") && !run.outputText.contains(".new-"), "\(run.outputText)")
    #expect(try place.names(in: "out").count == 200)
  }
}
