import DownloadModel
import Testing

@testable import dlm

@Suite("A list: an address a line, comments, blanks, any line end, bad lines named (contract)")
struct ListLineTests {
  @Test(arguments: ["http://a/b", "  http://a/b\t", "http://a/b\r", "http://u:p@a/b"])
  func address(_ line: String) throws {
    guard case .address(let address, _) = ListLine(Array(line.utf8)) else {
      Issue.record("no address in \(line)")
      return
    }
    #expect(address.key == "http://a/b")
  }

  @Test(arguments: ["", "   ", "\r", "# http://a/b", "  # indented", "#"])
  func blank(_ line: String) {
    guard case .blank = ListLine(Array(line.utf8)) else {
      Issue.record("not blank: \(line)")
      return
    }
  }

  struct Bad: Sendable {
    let bytes: [UInt8]
    let reason: Rejection.Reason
    let text: String
  }

  /// Public objects of other stores are there over https.
  @Test(arguments: [
    ("gs://bucket/a b", "https://storage.googleapis.com/bucket/a%20b"),
    ("AZ://account/box/c", "https://account.blob.core.windows.net/box/c"),
  ])
  func otherStores(text: String, key: String) { #expect(ListLine(text.utf8).address?.key == key) }

  /// It stood in the path of the request, and in messages.
  @Test(arguments: ["gs://me:secret@bucket/k", "az://me:secret@account/box/k", "s3://me:secret@bucket/k"])
  func bucketsWithLogins(text: String) {
    guard case .bad(.row, let shown) = ListLine(text.utf8) else {
      Issue.record("taken for good")
      return
    }
    #expect(!shown.contains("secret"))
  }

  @Test(arguments: [
    Bad(bytes: Array("nonsense".utf8), reason: .malformed(.noScheme), text: "nonsense"),
    Bad(
      bytes: Array("gopher://me:secret@a/b".utf8), reason: .malformed(.unsupportedScheme("gopher")),
      text: "gopher://a/b"),
    Bad(bytes: [0x68, 0xFF, 0xFE], reason: .notUTF8, text: "h\u{FFFD}\u{FFFD}"),
    Bad(
      bytes: Array(repeating: 0x61, count: ListLine.limit + 1), reason: .tooLong,
      text: String(repeating: "a", count: 80)),
  ])
  func bad(_ bad: Bad) {
    guard case .bad(let reason, let text) = ListLine(bad.bytes) else {
      Issue.record("taken for good")
      return
    }
    #expect(reason == bad.reason)
    #expect(text == bad.text)
  }

  /// Whatever the blocks cut through, the lines are the same.
  @Test(arguments: 1...12)
  func splitting(blockSize: Int) {
    let bytes = Array("\u{FEFF}one\r\n\ntwo é\nlast".utf8)
    var splitter = LineSplitter()
    var lines: [[UInt8]] = []
    for start in stride(from: 0, to: bytes.count, by: blockSize) {
      lines += splitter.take(Array(bytes[start..<min(start + blockSize, bytes.count)]))
    }
    lines += splitter.take([])
    #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["one\r", "", "two é", "last"])
  }

  @Test func anEndlessLineIsBounded() {
    var splitter = LineSplitter()
    for _ in 0..<100 { #expect(splitter.take(Array(repeating: 0x61, count: 10_000)).isEmpty) }
    let lines = splitter.take([])
    #expect(lines.map(\.count) == [ListLine.limit + 1])
  }
}
