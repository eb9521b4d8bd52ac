import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("Lists of what is here: --write-checksums, --write-list")
struct FileListsTests {
  private static let hash = ContentHasher.digest(of: [1, 2, 3]).hex

  @Test(
    arguments: [
      ("a.bin", "HASH  a.bin\n"), ("data/ä b.bin", "HASH  data/ä b.bin\n"),
      ("a\\b\nc\rd", "\\HASH  a\\\\b\\nc\\rd\n"), ("a\r\nb", "\\HASH  a\\r\\nb\n"),
    ])
  func namesAreEscapedAsCoreutilsDoes(path: String, line: String) {
    #expect(FileLists.checksumLine("HASH", path) == line)
  }

  @Test(
    arguments: [
      ("http://h/a", "a", "http://h/a\tsize=3\tout=a\tsha256=\(Self.hash)\n"),
      ("http://me:secret@h/a?x=1", "a b", "http://h/a?x=1\tsize=3\tout=a b\tsha256=\(Self.hash)\n"),
      ("http://h/a", "100%\t\r\n=", "http://h/a\tsize=3\tout=100%25%09%0D%0A=\tsha256=\(Self.hash)\n"),
      ("http://h/a?X-Amz-Signature=secret", "a", nil), ("http://h/a?token=secret", "a", nil),
    ])
  func aLineOfTheList(address: String, name: String, line: String?) throws {
    let request = DownloadRequest(id: 0, address: try Address(address))
    let outcome = DownloadOutcome(kind: .fetched, path: "dir/\(name)", size: 3)
    #expect(FileLists.listLine(Self.hash, .init(request: request, outcome: outcome)) == line)
  }

  /// Header lines of the user's do not go to what a stranger's list names, in later runs neither.
  @Test func whoNamedIt() throws {
    let request = DownloadRequest(id: 0, address: try Address("http://h/a"), wishes: .init(provenance: .thirdParty))
    let outcome = DownloadOutcome(kind: .fetched, path: "a", size: 3)
    let line = FileLists.listLine(Self.hash, .init(request: request, outcome: outcome))
    #expect(line == "http://h/a\tsize=3\tby=stranger\tout=a\tsha256=\(Self.hash)\n")
  }

  /// Fetched and unchanged ones, under the names that they got; not what failed, what was signed, or the user's own.
  @Test func everyFileThatIsHere() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b", "c"] { origin.route("/\(name)", .file([1, 2, 3], FileOptions(etag: "\"1\""))) }
    let place = try Workplace()
    _ = try place.folder.write([9], to: "work/out/b")
    let lists = ["--write-checksums", "SUMS", "--write-list", "again.txt"]
    let urls = ["/a", "/b", "/none", "/c?token=t", "/a"].map { origin.url($0) }
    for round in 1...2 {
      let run = try await place.start(["get", "-d", "out"] + urls + lists).waitForExit()
      #expect(run.status == 1, "\(run.errorText)")
      let sums = try String(decoding: place.file("SUMS"), as: UTF8.self)
      #expect(sums == ["a", "b.1", "c"].map { "\(Self.hash)  out/\($0)\n" }.joined(), "\(round): \(sums)")
      let list = try String(decoding: place.file("again.txt"), as: UTF8.self)
      #expect(
        list
          == [("/a", "a"), ("/b", "b.1")].map {
            "\(origin.url($0))\tsize=3\tout=\($1)\tsha256=\(Self.hash)\n"
          }.joined(), "\(round): \(list)")
      #expect(run.errorText.contains("again.txt is without 1 file: signed URLs are secrets"), "\(run.errorText)")
    }
    let check = try await place.start("sha256sum", ["-c", "SUMS"]).waitForExit()
    #expect(check.status == 0, "\(check.errorText)")
    // As those of --failed.
    let rights = try FileManager.default.attributesOfItem(atPath: "\(place.work)/again.txt")[.posixPermissions]
    #expect(rights as? Int == 0o600)
    #expect(try place.names() == ["SUMS", "again.txt", "out"])
  }

  /// To standard output, of a file that was compared while it came or stood here.
  @Test func ofWhatHasAChecksum() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    let place = try Workplace()
    let run = try await place.dlm(
      "get", origin.url("/a"), "--checksum", "sha256:\(Self.hash)", "--write-checksums", "-")
    #expect(run.status == 0 && run.outputText == "\(Self.hash)  a\n", "\(run.errorText)")
    let known = try await place.dlm(
      "get", origin.url("/a"), "--checksum", "sha256:\(Self.hash)", "--offline", "--write-checksums", "-")
    #expect(known.status == 0 && known.outputText == "\(Self.hash)  a\n", "\(known.errorText)")
  }

  @Test(arguments: ["--write-checksums", "--write-list"])
  func triedBeforeTheFirstByte(option: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for (name, status, words) in [("no/file", 73, "choose another place with \(option)"), (".", 64, "is a folder")] {
      let run = try await place.dlm("get", origin.url("/a"), option, name)
      #expect(run.status == Int32(status) && run.errorText.contains(words), "\(run.errorText)")
    }
    let taken = try await place.dlm("get", origin.url("/a"), "-o", "-", option, "file")
    #expect(taken.status == 64 && taken.errorText.contains("leaves no file"), "\(taken.errorText)")
    #expect(origin.log.isEmpty)
  }

  /// Half a list must not be taken for the whole.
  @Test func anInterruptedRunWritesNone() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    origin.route("/slow", .file([UInt8](repeating: 1, count: 5000), FileOptions(ending: .stall(after: 10))))
    let place = try Workplace()
    _ = try place.folder.write(Array("before".utf8), to: "work/SUMS")
    let run = try place.start(["get", origin.url("/a"), origin.url("/slow"), "--write-checksums", "SUMS"])
    try await place.wait(forSize: 3, of: "a")
    try await origin.wait(forRequests: 2)
    run.send(SIGINT)
    let result = try await run.waitForExit()
    #expect(result.status == 130 && result.errorText.contains("SUMS not written"), "\(result.errorText)")
    #expect(try place.file("SUMS") == Array("before".utf8))
  }
}
