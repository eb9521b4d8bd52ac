import DownloadModel
import Foundation
import TestSupport
import Testing

@Suite("A line's folder and name", .serialized)
struct FoldersOfLinesTests {
  private func content(_ seed: UInt64, _ count: Int = 5000) -> [UInt8] { SplitMix64.bytes(count: count, seed: seed) }

  @Test(arguments: DownloadMode.allCases)
  func filesGoBelowTheOutputFolder(mode: DownloadMode) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var lines: [String] = []
    for number in 0..<12 {
      origin.route("/d\(number)/index.html", .file(content(UInt64(number))))
      lines.append("\(origin.url("/d\(number)/index.html"))\tdir=a/d\(number)")
    }
    origin.route("/one", .file(content(90)))
    origin.route("/two", .file(content(91)))
    lines += ["\(origin.url("/one"))\tdir=x\tout=y/name.bin", "\(origin.url("/two"))\tout=x/y/name.bin"]
    _ = try place.list(lines)

    let plan = try await place.dlm("get", "urls.txt", "-d", "out", "--dry-run")
    #expect(plan.outputText.contains("out/a/d3/index.html") && plan.outputText.contains("out/x/y/name.1.bin"))
    let first = try await place.dlm("get", "urls.txt", "-d", "out", "-m", mode.rawValue)
    #expect(first.status == 0, "\(first.errorText)")
    for number in 0..<12 { #expect(try place.file("out/a/d\(number)/index.html") == content(UInt64(number))) }
    #expect(try place.file("out/x/y/name.bin") == content(90))
    #expect(try place.file("out/x/y/name.1.bin") == content(91))
    #expect(try place.names(in: "out/a/d0") == ["index.html"])

    let asked = origin.log.count
    let sent = origin.record.bodyBytesSent
    let second = try await place.dlm("get", "urls.txt", "-d", "out", "-m", mode.rawValue)
    #expect(second.status == 0 && second.errorText.contains("up to date: 14 files"), "\(second.errorText)")
    #expect(origin.log.count == asked + 14 && origin.record.bodyBytesSent == sent, "no body is sent again")
    // The folder itself as output folder is the same place.
    let inside = try await place.dlm("get", origin.url("/d3/index.html"), "-d", "out/a/d3")
    #expect(inside.status == 0)
    #expect(try place.names(in: "out/a/d3") == ["index.html"])

    let cleared = try await place.dlm("clear-cache", "--files", "--yes")
    #expect(cleared.status == 0, "\(cleared.errorText)")
    #expect(try place.names(in: "out/a/d7").isEmpty && place.names(in: "out/x/y").isEmpty)
  }

  @Test func aForeignFileIsMetInItsFolder() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f.txt", .file([1, 2, 3]))
    _ = try place.list(["\(origin.url("/f.txt"))\tdir=d"])
    _ = try place.folder.write([9], to: "work/d/f.txt")
    let skipped = try await place.dlm("get", "urls.txt", "--on-conflict", "skip")
    #expect(
      skipped.status == 0 && skipped.errorText.contains("d/f.txt, 1 B, skipped: a file exists"),
      "\(skipped.errorText)")
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status == 0 && run.errorText.contains("d/f.1.txt"), "\(run.errorText)")
    #expect(try place.file("d/f.txt") == [9] && place.file("d/f.1.txt") == [1, 2, 3])
    #expect(try place.names() == ["d", "urls.txt"])
  }

  @Test func whatCameStaysInItsFolderAndGoesOn() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let body = content(7, 3 << 20)
    origin.route("/f", .file(body, FileOptions(ending: .reset(after: 2 << 20))), .file(body))
    _ = try place.list(["\(origin.url("/f"))\tdir=a/b\tsha256=\(ContentDigest.of(body))"])
    let first = try await place.dlm("get", "urls.txt", "--retries", "0")
    #expect(first.status != 0)
    #expect(try place.names(in: "a/b") == ["f.part", "f.part.json"])
    let second = try await place.dlm("get", "urls.txt")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(try place.file("a/b/f") == body && place.names(in: "a/b") == ["f"])
    #expect(origin.record.bodyBytesSent["/f", default: 0] < body.count + (1 << 20))
  }

  @Test func thePathOfAnAddressIsKept() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    for path in ["/a/b/c.bin", "/a/c.bin", "/c.bin", "/.x/%64.bin"] { origin.route(path, .file(Array(path.utf8))) }
    let lines = ["/a/b/c.bin", "/a/c.bin", "/c.bin", "/.x/%64.bin"].map { origin.url($0) }
    _ = try place.list(lines + ["\(origin.url("/c.bin"))\tdir=own", "\(origin.url("/a/c.bin"))\tout=own.bin"])
    let run = try await place.dlm("get", "urls.txt", "--keep-paths", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("out/a/b/c.bin") == Array("/a/b/c.bin".utf8))
    #expect(try place.file("out/a/c.bin") == Array("/a/c.bin".utf8) && place.names(in: "out/own") == ["c.bin"])
    #expect(try place.names(in: "out") == [".x", "a", "c.bin", "own", "own.bin"])
    #expect(try place.names(in: "out/.x") == ["d.bin"])
    // It is remembered.
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 6 files"), "\(again.errorText)")
    let host = try await place.dlm("get", "--prefix-host", "--dry-run", origin.url("/c.bin"))
    #expect(host.outputText.contains("./127.0.0.1:\(origin.port)/c.bin"), "\(host.outputText)")
  }

  /// By chance, one of them failed.
  @Test(arguments: [true, false])
  func aFileAndAFolderOfOneName(fileFirst: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/clash", .file([1]))
    origin.route("/clash/below", .file([2]))
    let paths = fileFirst ? ["/clash", "/clash/below"] : ["/clash/below", "/clash"]
    _ = try place.list(paths.map { origin.url($0) })
    let run = try await place.dlm("get", "urls.txt", "--keep-paths", "-j", "1")
    let numbered = fileFirst ? "clash.1/below" : "clash.1"
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("Numbered, because the name was taken: \(numbered)"), "\(run.errorText)")
    #expect(try place.file(numbered) == [fileFirst ? 2 : 1])
    #expect(try place.file(fileFirst ? "clash" : "clash/below") == [fileFirst ? 1 : 2])
    let again = try await place.dlm("get", "urls.txt", "--keep-paths", "-j", "2")
    #expect(again.status == 0 && again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
    // A name that a line gives is exact.
    _ = try place.list(["\(origin.url("/clash/below"))\tout=urls.txt/x"])
    let refused = try await place.dlm("get", "urls.txt")
    #expect(refused.status == 73 && refused.errorText.contains("move it away"), "\(refused.errorText)")
  }

  @Test func aListAtAnAddressHidesNothing() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/x/.k/f", .file([1]))
    let lines = ["/x/.k/f\tout=.ssh/authorized_keys", "/x/.k/f\tdir=.config", "/x/.k/f"]
    origin.route("/urls.txt", .file(Array((lines.joined(separator: "\n") + "\n").utf8)))
    let run = try await place.dlm("get", "--list", origin.url("/urls.txt"), "--keep-paths")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names() == ["_config", "_ssh", "x"] && place.names(in: "x") == ["_k"])
  }

  @Test func nothingLeavesTheOutputFolder() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/f", .file([1]))
    origin.route("/g", .file([2]))
    try FileManager.default.createSymbolicLink(
      atPath: place.work + "/link", withDestinationPath: place.folder.path("home"))
    _ = try place.list([
      "\(origin.url("/f"))\tdir=link/x", "\(origin.url("/f"))\tout=../x", "\(origin.url("/g"))\tdir=d",
    ])
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status != 0 && run.errorText.contains("(link/x): a file or link is in the way"), "\(run.errorText)")
    #expect(run.errorText.contains("urls.txt:2: \"out=../x\""), "\(run.errorText)")
    #expect(try place.file("d/g") == [2])
    #expect(!FileManager.default.fileExists(atPath: place.folder.path("home/x")))
  }
}

extension ContentDigest {
  /// The SHA-256 of bytes, in hex.
  static func of(_ bytes: [UInt8]) -> String { ContentHasher.digest(of: bytes).hex }
}
