import TestSupport
import Testing

/// A file that a user renames by hand is downloaded again.
@Suite("dlm rename: a new name that later runs know")
struct RenameCommandTests {
  @Test func isKnown() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let (one, other) = (SplitMix64.bytes(count: 3000, seed: 1), SplitMix64.bytes(count: 3000, seed: 2))
    origin.route("/one.jpg", .file(one))
    origin.route("/other.jpg", .file(other))
    let place = try Workplace()
    let list = try place.list([origin.url("/one.jpg"), origin.url("/other.jpg")])
    #expect(try await place.dlm("get", list, "-d", "out").status == 0)
    #expect(try await place.dlm("rename", "out/one.jpg", "harbour.jpg").status == 0)
    #expect(try place.names(in: "out") == ["harbour.jpg", "other.jpg"])
    let again = try await place.dlm("get", list, "-d", "out", "--no-compare")
    #expect(again.status == 0 && again.errorText.contains("up to date"), "\(again.errorText)")
    #expect(try place.names(in: "out") == ["harbour.jpg", "other.jpg"])
    #expect(try place.file("out/harbour.jpg") == one)
    // And a second time.
    #expect(try await place.dlm("rename", "out/harbour.jpg", "boats.jpg").status == 0)
    #expect(try await place.dlm("get", list, "-d", "out", "--no-compare").errorText.contains("up to date"))
    #expect(origin.log.count { $0.headers["if-none-match"] == nil } == 2)
  }

  /// What is refused changes nothing.
  @Test func isRefused() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    origin.route("/b", .file([2]))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/a"), origin.url("/b")).status == 0)
    for (file, name, text) in [
      ("a", "b", "b"), ("a", "../x", "not a file name"), ("a", "", "not a file name"), ("a", ".", "not a file name"),
      ("none", "x", "none"), (".", "x", "."),
    ] {
      let result = try await place.dlm("rename", file, name)
      #expect(result.status != 0 && result.errorText.contains(text), "\(file) \(name): \(result.errorText)")
    }
    #expect(try place.names() == ["a", "b"])
    #expect(try place.file("a") == [1] && place.file("b") == [2])
    // Not dlm's: renamed, and said.
    _ = try place.folder.write([3], to: "work/own")
    let own = try await place.dlm("rename", "own", "mine")
    #expect(own.status == 0 && own.errorText.contains("not in the cache"), "\(own.errorText)")
    #expect(try place.file("mine") == [3])
  }
}
