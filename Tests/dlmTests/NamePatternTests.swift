import DownloadModel
import Testing

@testable import dlm

@Suite("--first: names as the shell matches them, or the end of a path")
struct NamePatternTests {
  @Test(
    arguments: [
      ("*.pdf", "http://a/x.pdf", true), ("*.pdf", "http://a/x.pdf?q=1", true),
      ("*.pdf", "http://a/x.pdf/y", false), ("*.PDF", "http://a/x.pdf", false),
      ("*", "http://a/", true), ("?", "http://a/", false), ("x", "http://a", false), ("*", "http://a", true),
      ("a?c", "http://a/abc", true), ("a?c", "http://a/ac", false), ("?", "http://a/%C3%A9", true),
      ("é*", "http://a/%C3%A9t%C3%A9", true), ("a b", "http://a/a%20b", true),
      ("[a-c]1", "http://a/b1", true), ("[!a-c]1", "http://a/b1", false), ("[^a-c]1", "http://a/d1", true),
      ("[]x]", "http://a/]", true), ("[x", "http://a/[x", true), ("[a-]", "http://a/-", true),
      ("\\*", "http://a/*", true), ("\\*", "http://a/x", false), ("x\\", "http://a/x%5C", true),
      ("docs/*", "http://a/pub/docs/x", true), ("docs/*", "http://a/docs/x/y", false),
      ("docs/*", "http://a/mydocs/x", false), ("docs/*", "http://a/x", false),
      ("/docs/*", "http://a/docs/x", true), ("/docs/*", "http://a/pub/docs/x", false),
      ("/x", "http://a/x", true), ("/x", "http://a/y/x", false), ("*/x", "http://a/y/x", true),
      ("*a*b*c*", "http://a/xxaxxbxxcxx", true), ("*a*b*c*", "http://a/xxaxxcxxbxx", false),
      ("", "http://a/x", false), ("", "http://a/", true), ("**", "http://a/x", true),
    ])
  func table(pattern: String, address: String, matches: Bool) throws {
    #expect(NamePattern(pattern).matches(try Address(address)) == matches, "\(pattern) \(address)")
  }

  /// A pattern full of stars takes no time without end.
  @Test func manyStars() throws {
    let pattern = NamePattern(String(repeating: "*a", count: 40) + "b")
    #expect(!pattern.matches(try Address("http://a/" + String(repeating: "a", count: 4000))))
  }

  @Test(
    arguments: [
      ("http://a/b\tfirst=yes", LineOptions(isFirst: true)),
      ("http://a/b\tfirst=no", LineOptions(isFirst: false)),
      ("http://a/b\tsize=12K", LineOptions(estimate: 12288)), ("http://a/b\t\tsize=0", LineOptions(size: 0)),
      ("http://a/b\tfirst=yes\tsize=5", LineOptions(isFirst: true, size: 5)),
    ])
  func aLinesOwnOptions(line: String, options: LineOptions) throws {
    guard case .address(let address, let found) = ListLine(Array(line.utf8)) else {
      Issue.record("no options in \(line)")
      return
    }
    #expect(address.key == "http://a/b" && found == options)
    guard case .address(_, let again) = ListLine(Array("http://a/b\(options.text)".utf8)) else {
      Issue.record("no options in \(options.text)")
      return
    }
    #expect(again == options)
  }

  @Test(
    arguments: [
      ("http://a/b\tfrist=yes", "frist=yes"), ("http://a/b\tfirst=perhaps", "first=perhaps"),
      ("http://a/b\tfirst", "first"), ("http://a/b\tsize=-1", "size=-1"),
      ("http://a/b\tA title", "A title"),
    ])
  func whatIsNoOption(line: String, option: String) {
    guard case .bad(let reason, let text) = ListLine(Array(line.utf8)) else {
      Issue.record("taken for good")
      return
    }
    #expect(reason == .option(option) && text == "http://a/b")
    let rejection = Rejection(list: "urls.txt", line: 3, text: text, reason: reason)
    #expect(RejectionMessages(rejection).line.contains("first=yes"))
  }

  @Test func relativeLines() throws {
    let base = try Address("http://a/lists/urls.txt")
    guard case .address(let address, let options) = ListLine(Array("b\tfirst=yes".utf8), base: base)
    else {
      Issue.record("no options")
      return
    }
    #expect(address.key == "http://a/lists/b" && options?.isFirst == true)
  }
}
