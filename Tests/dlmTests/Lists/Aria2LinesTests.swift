import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("Lists of aria2")
struct Aria2LinesTests {
  private static let sum = String(repeating: "ab", count: 32)
  private static let form = {
    var form = ListForm()
    form.format = .aria2
    return form
  }()

  /// As `aria2c --save-session` of 1.36 wrote it, but for the sum.
  private static let session = """
    http://h/c\t
     gid=769cd8937f80cd99
     max-tries=1
    http://h/a\thttp://m/b\t
     gid=ffda75a756afbe79
     dir=sub
     out=x/y.bin
     split=3
     referer=http://r/
     checksum=sha-256=\(sum)
     user-agent=me
     header=X-A: b
     header=X-C: d

    """

  private static let cases: [(text: String, expected: [String])] = [
    ("", []), ("\n# c\n\n", []),
    (
      session,
      [
        "http://h/c",
        "http://h/a\tdir=sub/x\tout=y.bin\tsha256=\(sum)\tmirror=http://m/b\theader=Referer: http://r/"
          + "\theader=User-Agent: me\theader=X-A: b\theader=X-C: d",
      ]
    ),
    ("http://h/a\r\n  out=x\r\n", ["http://h/a\tout=x"]),
    // In whatever order, and a comment between.
    ("http://h/a\n out=x/y\n# c\n\tdir=d\n", ["http://h/a\tdir=d/x\tout=y"]),
    ("http://h/a\n referer=*\n", ["http://h/a\theader=Referer: http://h/a"]),
    // An address that is indented, but below none.
    (" http://h/a\n out=x\n", ["http://h/a\tout=x"]),
    // What cannot be used is refused with its line, and its file with it; the others go on.
    (
      "http://h/a\n dir=/abs\n out=x\nhttp://h/b\n", ["2: field(\"dir=/abs\") http://h/a", "http://h/b"]
    ),
    ("http://u:p@h/a\n out=../x\n", ["2: field(\"out=../x\") http://h/a"]),
    ("http://h/a\n checksum=sha-224=ab\n", ["2: field(\"checksum=sha-224=ab\") http://h/a"]),
    ("http://h/a\n header=Range: secret\n", ["2: field(\"header=Range: …\") http://h/a"]),
    ("http://h/a\n secret\n", ["2: foreign(to: \"an aria2 list\") …", "http://h/a"]),
    (
      "magnet:?x\n out=x\nhttp://h/a\n",
      ["1: \(Rejection.Reason.malformed(.noScheme)) magnet:?x", "http://h/a"]
    ),
    ("gopher://h/a\thttp://h/a\n", ["http://h/a"]),
  ]

  @Test(arguments: cases.indices) func table(index: Int) throws {
    let (text, expected) = Self.cases[index]
    #expect(try FormatReading.entries(of: Array(text.utf8), Self.form) == expected)
    try FormatReading.expectAlike(text, Self.form)
  }

  @Test func damage() { FormatReading.fuzz(Self.session, Self.form) }

  @Test(arguments: [
    (session, true), ("http://h/a\n  out=x\n", true), ("http://h/a\thttp://h/b\n", true),
    ("# c\r\nhttp://h/a\r\n\tgid=1\r\n", true),
    ("http://h/a\nhttp://h/b\n", false), ("http://h/a\tout=x\n", false), ("a=b\n c=d\n", false),
    ("http://h/a\tmirror=http://h/b\n", false), ("  http://h/a?b=c\n  http://h/b?c=d\n", false),
  ])
  func whatIsTakenForOne(_ text: String, _ isOne: Bool) {
    #expect(Aria2Lines.fits(text) == isOne)
  }

  @Test func whatItDoesNotDoIsSaidOnce() throws {
    var reader = LineByLine(Aria2Lines())
    _ = try reader.take(
      Array((Self.session + "gopher://h/a\thttp://h/a\n gid=2\n http-passwd=secret\n").utf8), base: nil)
    #expect(
      reader.note == "dlm does not do, and passed over: gid, http-passwd, max-tries, split")
  }

  /// Both get the same of a list that aria2 itself has written.
  @Test func aSessionOfAria2() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let bodies = ["/a": SplitMix64.bytes(count: 100_000, seed: 1), "/b": SplitMix64.bytes(count: 3000, seed: 2)]
    for (path, body) in bodies { origin.route(path, .file(body)) }
    let place = try Workplace()
    let sum = try await ProofTests.sum(bodies["/a"] ?? [])
    let list = """
      \(origin.url("/a"))\t\(origin.url("/mirror"))
        out=deep/er.bin
        checksum=sha-256=\(sum)
        header=X-Secret: CANARY
        split=1
      \(origin.url("/b"))
      """
    _ = try place.folder.write(Array(list.utf8), to: "work/in.txt")
    let aria2 = try await place.start(
      "aria2c", ["-q", "--no-conf", "-d", "sub", "-i", "in.txt", "--save-session", "session", "--force-save=true"]
    ).waitForExit()
    #expect(aria2.status == 0, "\(aria2.errorText)")
    let run = try await place.dlm("get", "session", "-d", "dlm", "--failed", "failed")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("dlm: session: an aria2 list\n"), "\(run.errorText)")
    #expect(run.errorText.contains("1 verified by checksum"), "\(run.errorText)")
    for name in ["sub/deep/er.bin", "sub/b"] {
      #expect(try place.file("dlm/\(name)") == place.file(name), "\(name)")
    }
    #expect(!run.errorText.contains("CANARY"))
    let kept = try FileManager.default.subpathsOfDirectory(atPath: place.folder.path("home")).filter { path in
      (try? place.folder.read("home/\(path)").firstRange(of: "CANARY".utf8)) != nil
    }
    #expect(kept.isEmpty, "\(kept)")
  }

  @Test func aWrongSumFails() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1, 2, 3]))
    let place = try Workplace()
    _ = try place.list([origin.url("/a"), "  checksum=sha-256=\(Self.sum)"])
    let run = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(run.status == 1 && run.errorText.contains("checksum mismatch"), "\(run.errorText)")
    #expect(try place.names(in: "out") == ["a.rejected"])
  }
}
