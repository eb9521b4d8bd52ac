import ArgumentParser
import DownloadModel
import TestSupport
import Testing

@testable import dlm

@Suite("What a line says of its file")
struct LineOptionsTests {
  /// An option behind a blank was part of the URL, and the file of that name was asked for.
  @Test(
    arguments: [
      ("http://h/a out=b.iso", "out"), ("http://h/a  sha256=00 size=1", "sha256"), ("http://h/a b\t", nil),
      ("http://h/a b", nil), ("http://h/a outfit=x", nil), ("http://h/a?out=b", nil), ("http://h/a b\tout=c", nil),
      ("http://h/ä", nil), ("http://h/a%20out=b", nil),
    ] as [(String, String?)]) func anOptionBehindABlank(line: String, name: String?) throws
  {
    let entries = try ListText().entries(line + "\n")
    let bad = entries.filter { $0.contains(" bad ") }
    #expect(bad.count == (name == nil ? 0 : 1), "\(entries)")
    if let name { #expect(bad[0].contains("a tab, not a blank, goes before \(name)="), "\(entries)") }
  }

  private static let sum = String(repeating: "ab", count: 32)

  struct Row: Sendable {
    let text: String
    /// Nil where the text is refused.
    let expected: (@Sendable (inout LineOptions) -> Void)?

    init(_ text: String, _ expected: (@Sendable (inout LineOptions) -> Void)?) {
      (self.text, self.expected) = (text, expected)
    }
  }

  static let rows: [Row] = [
    Row("out=x.bin") { $0.name = "x.bin" },
    Row("out=a/b/x.bin") { ($0.folder, $0.name) = ("a/b", "x.bin") },
    Row("dir=a\tout=b/x") { ($0.folder, $0.name) = ("a/b", "x") },
    Row("out=a/\u{301}b") { ($0.folder, $0.name) = ("a", "\u{301}b") },
    Row("out=b/x\tdir=a") { ($0.folder, $0.name) = ("a/b", "x") },
    Row("checksum=sha-256=\(sum)") { $0.checksum = ContentDigest(.sha256, hex: sum) },
    Row("multihash=1220\(sum)") { $0.checksum = ContentDigest(.sha256, hex: sum) },
    Row("crc32c=4waSgw==") { $0.checksum = ContentDigest(.crc32c, hex: "e3069283") },
    Row("dir=a b") { $0.folder = "a b" },
    Row("directory=a/b\tdir=c") { ($0.directory, $0.folder) = ("a/b", "c") }, Row("directory=/a", nil),
    Row("out=50%25%09x") { $0.name = "50%\tx" },
    Row("sha256=\(sum)") { $0.checksum = ContentDigest(.sha256, hex: sum) },
    // Of several, the strongest counts, wherever it stands.
    Row("sha256=\(sum)\tmd5=\(sum.prefix(32))") { $0.checksum = ContentDigest(.sha256, hex: sum) },
    Row("md5=\(sum.prefix(32))\tsha256=\(sum)") { $0.checksum = ContentDigest(.sha256, hex: sum) },
    Row("header=Accept: x\theader=X-Y: a=b") { $0.headerLines = ["Accept: x", "X-Y: a=b"] },
    Row("expect=Image/*,image/jpg") { $0.expectedTypes = ExpectedTypes(argument: "image/*,image/jpeg") },
    Row("expect=png", nil), Row("expect=", nil),
    Row("mirror=http://m/x") { $0.mirrors = (try? Address("http://m/x")).map { [$0] } ?? [] },
    Row("out=/etc/passwd", nil), Row("out=../x", nil), Row("dir=..", nil), Row("dir=a//b", nil), Row("out=", nil),
    Row("out=x.part.json", nil), Row("sha256=ab", nil), Row("sha3=\(sum)", nil), Row("mirror=gopher://m/x", nil),
    // No file of the user's is read, and no header of the transfer is replaced.
    Row("header=@/etc/passwd", nil), Row("header=Range: bytes=0-", nil), Row("header=none", nil),
  ]

  @Test(arguments: rows.indices) func table(index: Int) throws {
    let row = Self.rows[index]
    guard let expected = row.expected else {
      #expect(throws: Rejection.Reason.self, "\(row.text)") { try LineOptions(row.text) }
      return
    }
    var options = LineOptions()
    expected(&options)
    #expect(try LineOptions(row.text) == options)
    // What is kept of them says the same again, but for what may be secret.
    options.headerLines = []
    #expect(try LineOptions(options.text) == options)
  }

  @Test func aRefusedHeaderIsNotShown() {
    #expect(throws: Rejection.Reason.option("header=Content-Length: …")) {
      try LineOptions("header=Content-Length: secret")
    }
    #expect(throws: Rejection.Reason.option("header=…")) { try LineOptions("header=secret") }
  }

  @Test func allOfThemReachTheRequest() async throws {
    let folder = try TestSupport.TemporaryFolder()
    let list = "f\tdir=d\tout=n\tsha256=\(Self.sum)\theader=A: b\tmirror=http://m/f\n"
    let source = Source(try folder.write(Array(list.utf8), to: "list"))
    var form = ListForm()
    form.base = try Address("http://h/x/")
    let request = try #require(await ListReader([source], RequestMarks(form: form)).all().first)
    #expect(request.address.key == "http://h/x/f" && request.folder == "d" && request.outputName == "n")
    #expect(request.checksum?.hex == Self.sum && request.headerLines == ["A: b"])
    #expect(request.mirrors.map(\.key) == ["http://m/f"])
  }

  @Test func aBaseHasNoLogin() throws {
    var options = try ListOptions.parse(["--base", "https://u:p@h/"])
    #expect { try ListForm(options) } throws: { "\($0)".contains("netrc") && !"\($0)".contains("p@") }
    options.base = "h/x"
    #expect { try ListForm(options) } throws: { "\($0)".contains("not a URL") }
  }
}
