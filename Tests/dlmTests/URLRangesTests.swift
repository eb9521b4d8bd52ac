import DownloadModel
import TestSupport
import Testing

@testable import dlm

@Suite("--glob: URLs that stand for several, as curl has them")
struct URLRangesTests {
  static let cases: [(text: String, expected: [String])] = [
    ("http://h/{a,b}/[1-3]", ["a/1", "a/2", "a/3", "b/1", "b/2", "b/3"].map { "http://h/\($0)" }),
    ("http://h/f[08-11].bin\tout=x", ["08", "09", "10", "11"].map { "http://h/f\($0).bin\tout=x" }),
    ("http://h/[0-10:5]", ["http://h/0", "http://h/5", "http://h/10"]),
    ("http://h/[a-e:2]", ["http://h/a", "http://h/c", "http://h/e"]),
    ("http://{a,b}.org/{,x}", ["http://a.org/", "http://a.org/x", "http://b.org/", "http://b.org/x"]),
    ("http://[::1]/[1-2]", ["http://[::1]/1", "http://[::1]/2"]), ("http://h/\\[1-2\\]{a}", ["http://h/[1-2]a"]),
    ("http://h/[7-7]", ["http://h/7"]),
  ]

  @Test(arguments: cases.indices) func expands(index: Int) throws {
    var ranges = try #require(try URLRanges(in: Array(Self.cases[index].text.utf8)))
    var found: [String] = []
    while let text = ranges.next() { found.append(String(decoding: text, as: UTF8.self)) }
    #expect(found == Self.cases[index].expected && ranges.count == found.count)
  }

  @Test(arguments: [
    "{a", "[1-2", "[x]", "[3-1]", "[1-2:0]", "[1-2:x]", "{}", "{a,{b}}", "[a-9]", "[-1]", "[1-2-3]", "[1-1000001]",
    "[1-99999999999999999999]", "[1-1000][1-1001]", "[1-999999999999999][1-999999999999999]",
  ]) func refuses(text: String) {
    #expect(throws: Rejection.Reason.self) { try URLRanges(in: Array("http://h/\(text)".utf8)) }
  }

  @Test(arguments: ["http://h/a", "# {a,b}", "", "http://h/a\tout={x}"]) func hasNone(text: String) throws {
    #expect(try URLRanges(in: Array(text.utf8)) == nil)
  }

  /// On the command line and in a list, lazily and in order; without the option brackets are a URL's own.
  @Test func ofAListAndTheCommandLine() async throws {
    let place = try Workplace()
    let lines = ["http://127.0.0.1:9/{x,y}", "http://127.0.0.1:9/[1-", "http://127.0.0.1:9/z"]
    let path = try place.list(lines)
    let run = try await place.dlm("get", path, "http://127.0.0.1:9/n[001-300]", "--glob", "--dry-run", "--offline")
    let names = run.outputText.split(separator: "\n").map { $0.split(separator: "\t")[1] }
    #expect(
      names.prefix(3) == ["./x", "./y", "./z"] && names.count == 303 && names.last == "./n300", "\(run.outputText)")
    #expect(
      run.errorText.contains("\(path):2: ") && run.errorText.contains("a bracket is never closed"), "\(run.errorText)")
    let plain = try await place.dlm("get", "http://127.0.0.1:9/{x,y}", "--dry-run", "--offline")
    #expect(plain.outputText.hasPrefix("http://127.0.0.1:9/{x,y}\t"), "\(plain.outputText)")
    let million = try await place.dlm("get", "http://127.0.0.1:9/[1-1000001]", "--glob")
    #expect(million.status == 1 && million.errorText.contains("more than 1000000 URLs"), "\(million.errorText)")
    let named = try await place.dlm("get", "http://127.0.0.1:9/[1-2]", "--glob", "-o", "x")
    #expect(named.status == 64 && named.errorText.contains("--output"), "\(named.errorText)")
  }
}
