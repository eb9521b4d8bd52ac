import DownloadModel
import TestSupport
import Testing

@testable import dlm

@Suite("What is read as a list, and is none")
struct ListDoubtTests {
  private static func bad(_ line: Int) -> Rejection {
    Rejection(list: "list", line: line, text: "x", reason: .malformed(.noScheme))
  }

  @Test func badLinesBeforeAnAddressWait() throws {
    var doubt = ListDoubt()
    for line in 1..<ListDoubt.mostAtStart { #expect(try doubt.take(Self.bad(line)) == []) }
    #expect(doubt.address() == (1..<ListDoubt.mostAtStart).map(Self.bad))
    #expect(doubt.address().isEmpty)
    #expect(try doubt.take(Self.bad(9)) == [Self.bad(9)])
    #expect(doubt.release().isEmpty)
  }

  @Test func tooManyAtTheStart() throws {
    var doubt = ListDoubt()
    for line in 1..<ListDoubt.mostAtStart { #expect(try doubt.take(Self.bad(line)) == []) }
    #expect(throws: Rejection.NoList.lines(ListDoubt.mostAtStart)) {
      try doubt.take(Self.bad(ListDoubt.mostAtStart))
    }
  }

  @Test func aShortOneIsTold() throws {
    var doubt = ListDoubt()
    _ = try doubt.take(Self.bad(1))
    #expect(doubt.release() == [Self.bad(1)])
    #expect(doubt.release().isEmpty)
  }

  /// (addresses, bad lines behind them, whether that is still a list)
  @Test(arguments: [(1, 50, true), (1, 60, false), (3, 60, true), (3, 83, false), (1000, 2000, true)])
  func further(addresses: Int, bad: Int, isList: Bool) {
    var doubt = ListDoubt()
    for _ in 0..<addresses { _ = doubt.address() }
    let told = (1...bad).map { line in (try? doubt.take(Self.bad(line))) == [Self.bad(line)] }
    #expect(told.allSatisfy(\.self) == isList)
  }

  @Test(
    arguments: [
      ([], nil), (Array("http://a/b\n".utf8), nil), (Array("# <html>\n".utf8), nil),
      (Array("\u{FEFF}http://a/b".utf8), nil), (Array("example.org\n".utf8), nil),
      (Array("<!DOCTYPE html>\n".utf8), .page), (Array(" \r\n\t<HTML lang=en>".utf8), .page),
      (Array("\u{FEFF}<!doctype HTML".utf8), .page), ([0x7F, 0x45, 0x4C, 0x46, 2, 0], .binary),
      ([0x68, 0x0A, 0], .binary), ([0xFF, 0xFE, 0x68, 0], .utf16), ([0xFE, 0xFF, 0, 0x68], .utf16),
    ] as [([UInt8], Rejection.NoList?)])
  func firstBytes(start: [UInt8], what: Rejection.NoList?) { #expect(ListDoubt.look(at: start) == what) }

  private static func refused(_ run: CommandResult) -> Int {
    run.errorText.split(separator: "\n").count { $0.hasPrefix("dlm: ") }
  }

  /// One of 3 MB once gave 1,611 lines, and of 300 MB 193,293.
  @Test(
    arguments: [
      ("film.mkv", SplitMix64.bytes(count: 300_000, seed: 1), "binary"),
      ("page", Array("<!doctype html>\n<p>Sign in\n</html>\n".utf8), "web page"),
      ("list.dat", Array(repeating: Array("1;2;3\n".utf8), count: 5000).flatMap(\.self), "first 8 lines"),
      ("wide.txt", [0xFF, 0xFE] + Array("http://a/b\n".utf8).flatMap { [$0, 0] }, "save it as UTF-8"),
    ] as [(String, [UInt8], String)])
  func refusedAsAWhole(name: String, bytes: [UInt8], words: String) async throws {
    let place = try Workplace()
    _ = try place.folder.write(bytes, to: "work/\(name)")
    let run = try await place.dlm("get", name)
    #expect(run.status == 66, "\(run.errorText)")
    #expect(Self.refused(run) == 1, "\(run.errorText)")
    #expect(run.errorText.contains("\(name) is ") && run.errorText.contains(words), "\(run.errorText)")
    #expect(run.errorText.utf8.count < 1500, "\(run.errorText)")
    #expect(try place.names() == [name])
  }

  @Test func aFewBadLinesAmongGoodOnes() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    origin.route("/b", .file([2]))
    let place = try Workplace()
    _ = try place.list(["one", "two", "three", origin.url("/a"), "four", origin.url("/b"), "five"])
    let run = try await place.dlm("get", "urls.txt")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(Self.refused(run) == 5, "\(run.errorText)")
    for line in [1, 2, 3, 5, 7] { #expect(run.errorText.contains("urls.txt:\(line): "), "\(run.errorText)") }
    #expect(try place.file("a") == [1] && place.file("b") == [2])
  }
}
