import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("Two normal forms of one text are two names (HTTP rule 52)")
struct EqualBytesTests {
  private static let forms = ["caf\u{E9}.bin", "cafe\u{301}.bin"]
  private static let paths = ["/caf%C3%A9.bin", "/cafe%CC%81.bin"]

  private static func origin() throws -> FaultyOrigin {
    let origin = try FaultyOrigin()
    for (index, path) in paths.enumerated() {
      origin.route(path, .file([UInt8](repeating: UInt8(index), count: 1000 + index)))
    }
    return origin
  }

  private static func sum(_ index: Int) -> String {
    ContentHasher.digest(of: [UInt8](repeating: UInt8(index), count: 1000 + index)).hex
  }

  /// Neither manifest may lose a file, and what they say is read back.
  @Test func manifests() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(Self.paths.map { origin.url($0) })
    let run = try await place.dlm(
      "get", "urls.txt", "-d", "out", "--write-checksums", "SUMS", "--write-list", "all.txt")
    #expect(run.status == 0, "\(run.errorText)")
    let sums = try String(decoding: place.file("SUMS"), as: UTF8.self).split(separator: "\n")
    let lines = try String(decoding: place.file("all.txt"), as: UTF8.self).split(separator: "\n")
    #expect(sums.count == 2 && lines.count == 2, "\(sums) \(lines)")
    #expect(try place.names(in: "out").count == 2)
    let checked = try await place.dlm("get", "urls.txt", "-d", "again", "--checksums", "SUMS")
    #expect(checked.status == 0, "\(checked.errorText)")
    #expect(!checked.errorText.contains("different checksums"))
    let second = try await place.dlm("get", "all.txt", "-d", "third", "--no-cache")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(try place.names(in: "again").count == 2 && place.names(in: "third").count == 2)
  }

  @Test func checksumsOfABag() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    let indices = [0, 1]
    let fetch = indices.map { "\(origin.url(Self.paths[$0])) - data/\(Self.forms[$0])\n" }.joined()
    let manifest = indices.map { "\(Self.sum($0))  data/\(Self.forms[$0])\n" }.joined()
    _ = try place.folder.write(Array(fetch.utf8), to: "work/fetch.txt")
    _ = try place.folder.write(Array(manifest.utf8), to: "work/manifest-sha256.txt")
    let run = try await place.dlm("get", "fetch.txt", "--require-proof", "digest")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "data").count == 2)
  }

  /// One URL under two names is two files, in one run and in the next.
  @Test func namesOfLines() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(Self.forms.map { "\(origin.url(Self.paths[0]))\tout=\($0)" })
    for word in ["2 files", "up to date: 2 files"] {
      let run = try await place.dlm("get", "urls.txt", "-d", "out")
      #expect(run.status == 0 && run.errorText.contains(word), "\(run.errorText)")
      #expect(try place.names(in: "out").count == 2)
    }
  }

  /// A digest that was read for one name is not the other's.
  @Test func compared() async throws {
    let origin = try Self.origin()
    defer { origin.stop() }
    let place = try Workplace()
    _ = try place.list(Self.paths.map { origin.url($0) })
    #expect(try await place.dlm("get", "urls.txt").status == 0)
    let run = try await place.dlm("get", "--mode", "sequential")
    #expect(run.status == 0 && !run.errorText.contains("differ"), "\(run.errorText)")
  }

  @Test func texts() {
    let texts = Self.forms.map { ByteText($0) }
    #expect(Self.forms[0] == Self.forms[1], "Swift's own rule")
    #expect(texts[0] != texts[1] && Set(texts).count == 2 && Set(texts + texts).count == 2)
    #expect(texts[1] < texts[0] && texts[0] == ByteText(Substring(Self.forms[0])))
  }
}
