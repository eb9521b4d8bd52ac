import ArgumentParser
import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("JSON as a list: documents and lines")
struct JSONItemsTests {
  private static func list(_ items: String? = "[]", _ fields: [RowFields.Field: String] = [.url: "url"]) -> ListText {
    var form = ListForm()
    (form.format, form.items, form.fields) = (.json, items, RowFields(names: fields))
    return ListText(form: form)
  }

  /// Below `[]`, field `url`.
  static let documents: [(text: String, expected: [String])] = [
    (#"[{"url":"http://h/a"},{"url":"http://h/b"}]"#, ["1 http://h/a", "1 http://h/b"]),
    (" [ {\r\n\"n\" : [1, {\"url\":\"x\"}] , \"url\":\n\"http://h/a\" } ] \n", ["1 http://h/a"]),
    // The last of two counts, as for jq; null is none, and neither is what lies elsewhere.
    (
      #"[{"url":"http://h/a","url":"http://h/b"},{"url":"http://h/c","url":null},{"x":{"url":"http://h/d"}}]"#,
      ["1 http://h/b"]
    ),
    (#"[{"url":"http:\/\/h\u002Fa\u00e4\ud83d\ude00"}]"#, ["1 http://h/a%C3%A4%F0%9F%98%80"]),
    (#"[{"\u0075rl":"http://h/a"}]"#, ["1 http://h/a"]),
    (#"[{"url":"http://h/\"\\"}]"#, [#"1 http://h/"\"#]),
    (#"[{"url":""},{"url":"http://h/a"},-1.5e+3,true,false,null,"s",[],{}]"#, ["1 http://h/a"]),
    ("\u{FEFF}[{\"url\":\"http://h/a\"}]", ["1 http://h/a"]),
    (
      #"[{"url":"gopher://h/a"}]"#,
      ["1 bad gopher://h/a: malformed(DownloadModel.Address.Malformed.unsupportedScheme(\"gopher\"))"]
    ),
    (
      #"[{"url":"http://h/a\tout=x"}]"#,
      ["1 bad http://h/a: malformed(DownloadModel.Address.Malformed.controlCharacter)"]
    ),
    // Damage ends it, and says where it is.
    (
      "[{\"url\":\"http://h/a\"},\n{\"url\":\"http://h/b\",\"x\":[1,}]",
      [
        "1 http://h/a", "2 damaged: this is no JSON, at [1].x[0]",
      ]
    ),
    (
      "[{\"url\":\"http://h/a\"},\n{\"x\":{\"y\":\"a",
      ["1 http://h/a", "2 damaged: it ends within a value, at [1].x.y"]
    ),
    (#"[{"url":"http://h/a"} {"url":"http://h/b"}]"#, ["1 http://h/a", "1 damaged: this is no JSON, at [0]"]),
    (#"[{"url":"http://h/a"},{"url" "http://h/b"}]"#, ["1 http://h/a", "1 damaged: this is no JSON, at [1].url"]),
    (#"[{"url":"http://h/a",}]"#, ["1 damaged: this is no JSON, at [0].url"]),
    (#"[{"url":"http://h/a"},]"#, ["1 http://h/a", "1 damaged: this is no JSON, at [0]"]),
    (#"[{"url":"http://h/a"}}"#, ["1 http://h/a", "1 damaged: this is no JSON, at [0]"]),
    ("[{\"url\":\"http://h/a\n\"}]", ["1 damaged: a text has a control character, at [0].url"]),
    (#"[{"url":"http://h/\x"}]"#, ["1 damaged: a text has an unknown escape, at [0].url"]),
    (#"[{"url":"http://h/\ud83d"}]"#, ["1 damaged: a text has an unknown escape, at [0].url"]),
    (#"[{"url":nul}]"#, ["1 damaged: this is no JSON, at [0].url"]),
    (#"[{"url":0x1}]"#, ["1 damaged: this is no JSON, at [0].url"]),
  ]

  @Test(arguments: documents.indices) func document(index: Int) throws {
    let (text, expected) = Self.documents[index]
    #expect(try Self.list().entries(text) == expected, "\(text)")
    #expect(try Self.list().sizeOfOtherResult(Array(text.utf8)) == nil, "\(text)")
  }

  /// A bad line is reported, and the others go on.
  @Test func lines() throws {
    let lines = [
      #"{"url":"http://h/1"}"#, #"{"url":"http://h/2""#, #"{"url":"http://h/3"}"#, "nonsense", #"{"url":"http://h"#, "",
      #"{"url":"http://h/7"}}"#, #"{"url":"http://h/8"}"#,
    ]
    let expected = [
      "1 http://h/1", "2 bad : row(\"the line ends within a value, at url\")", "3 http://h/3",
      "4 bad : row(\"this is no JSON\")", "5 bad : row(\"a text has a control character, at url\")", "7 http://h/7",
      "7 bad : row(\"this is no JSON\")", "8 http://h/8",
    ]
    let text = lines.joined(separator: "\n") + "\n"
    #expect(try Self.list("").entries(text) == expected)
    #expect(try Self.list("").sizeOfOtherResult(Array(text.utf8)) == nil)
  }

  @Test func paths() throws {
    let text =
      #"{"features":[{"assets":{"a":{"href":"http://h/a","m":{"s":7}},"b":{"href":"http://h/b"}}}],"assets":{"c":{"href":"http://h/c"}}}"#
    let fields: [RowFields.Field: String] = [.url: "href", .size: "m.s"]
    #expect(try Self.list("features[].assets.*", fields).entries(text) == ["1 http://h/a size=7", "1 http://h/b"])
    let both = ["1 http://h/a size=7", "1 http://h/b", "1 http://h/c"]
    #expect(try Self.list("assets.*|features[].assets.*", fields).entries(text) == both)
    #expect(
      try Self.list("[][]", [.url: ""]).entries(#"[["http://h/a"],["http://h/b",null]]"#) == [
        "1 http://h/a", "1 http://h/b",
      ])
  }

  /// The message for a text whose URL fields are unknown.
  static let found: [(text: String, said: String, count: Int)] = [
    (#"["http://h/a","http://h/b"]"#, "JSON, URLs in []", 2),
    (#"{"x":[1],"list":["http://h/a","http://h/b"]}"#, "JSON, URLs in list[]", 2),
    (
      #"{"url":"http://h/api","files":[{"name":"x","download_url":"http://h/a"}]}"#,
      "JSON, URLs in files[].download_url", 1
    ),
    (#"[{"a":{"b":[{"href":"http://h/a"}]}}]"#, "JSON, URLs in [].a.b[].href", 1),
    ("{\"url\":\"http://h/a\"}\n{\"url\":\"http://h/b\"}\n", "JSON, URLs in url", 2),
  ]

  @Test(arguments: found.indices) func finding(index: Int) throws {
    let (text, said, count) = Self.found[index]
    #expect(try ListText().said(text) == said)
    #expect(try ListText().entries(text).count == count)
    #expect(try ListText().sizeOfOtherResult(Array(text.utf8)) == nil)
  }

  @Test func whatIsNotThereIsAsked() throws {
    #expect(throws: Rejection.NoList.field(nil, among: [])) { try ListText().entries(#"{"a":[{"b":"c"}]}"#) }
    #expect(throws: Rejection.NoList.field("[].link", among: ["url"])) {
      try Self.list("[]", [.url: "link"]).entries(#"[{"url":"http://h/a"}]"#)
    }
    #expect(try Self.list(nil, [.url: "at.x"]).entries(#"{"q":[{"at":{"x":"http://h/a"}}]}"#) == ["1 http://h/a"])
    #expect(try ListText().entries("{\"a\":") == ["1 damaged: it ends within a value, at a"])
  }

  private static let sum = String(repeating: "ab", count: 32)

  /// Unnamed fields, in any order of an item.
  static let used: [(text: String, said: String, used: String?, first: String)] = [
    (
      #"[{"md5":"\#(sum.prefix(32))","url":"http://h/a","n":1,"size":7},{"url":"http://h/b"}]"#, "JSON, URLs in [].url",
      "checksums from md5, sizes from size", "1 http://h/a size=7 md5=\(sum.prefix(32))"
    ),
    // As PyPI has it; and what nothing is known of is none of the file's.
    (
      #"{"urls":[{"digests":{"blake2b_256":"\#(sum)","md5":"\#(sum.prefix(32))","sha256":"\#(sum)"},"url":"http://h/a"}]}"#,
      "JSON, URLs in urls[].url", "checksums from digests.sha256", "1 http://h/a sha256=\(sum)"
    ),
    (
      #"[{"source":{"sha256":"\#(sum)"},"file":{"url":"http://h/a"},"sha":"\#(sum)"}]"#, "JSON, URLs in [].file.url",
      nil,
      "1 http://h/a"
    ),
    (
      #"{"data":[{"links":{"file":"http://h/a","n":"x"},"checksum":"md5:\#(sum.prefix(32))"}]}"#,
      "JSON, URLs in data[].links.file", "checksums from checksum", "1 http://h/a md5=\(sum.prefix(32))"
    ),
    (
      #"[{"url":"http://h/api","download_url":"http://h/a","sha":"\#(sum.prefix(40))"}]"#,
      "JSON, URLs in [].download_url",
      nil, "1 http://h/a"
    ),
  ]

  @Test(arguments: used.indices) func fieldsThatAreFound(index: Int) throws {
    let (text, said, used, first) = Self.used[index]
    var reader = try ListForm().reader(of: Array(text.utf8), named: "x")
    _ = try reader.take(Array(text.utf8), base: nil)
    #expect(reader.said == said && reader.used == used, "\(reader.said ?? "") \(reader.used ?? "")")
    #expect(try ListText().entries(text).first == first)
    #expect(try ListText().sizeOfOtherResult(Array(text.utf8)) == nil)
  }

  @Test func candidatesAreNamed() throws {
    let text = #"[{"links":{"self":"http://h/1","file":"http://h/2"},"n":1}]"#
    #expect(throws: Rejection.NoList.field(nil, among: ["links.self", "links.file"])) { try ListText().entries(text) }
  }

  /// Its `stac_extensions` are no files, and its checksums are multihashes.
  @Test func aSTACDocument() throws {
    let extensions = #""stac_extensions":["https://h/schema.json"],"stac_version":"1.0.0""#
    var list = ListText()
    list.base = try Address("http://h/c/")
    #expect(throws: Rejection.NoList.self) {
      try list.entries(#"{\#(extensions),"type":"Collection","links":[{"rel":"item","href":"./a.json"}]}"#)
    }
    let item =
      #"{\#(extensions),"assets":{"d":{"href":"./d.tif","file:size":7,"file:checksum":"1220\#(Self.sum)"}}}"#
    #expect(try list.entries(item) == ["1 http://h/c/d.tif size=7 sha256=\(Self.sum)"])
    #expect(try list.said(item) == "STAC, URLs in the assets")
    #expect(try list.sizeOfOtherResult(Array(item.utf8)) == nil)
  }

  /// Texts and numbers of items, and those of a table, fill a template in.
  @Test(arguments: [
    (["--items", "ids[]"], #"{"ids":["a b",7],"x":"http://h/no"}"#, ["http://h/a%20b.pdf", "http://h/7.pdf"]),
    (
      ["--items", "d[]", "--url-field", "id"], #"{"d":[{"id":3,"md5":"\#(String(repeating: "a", count: 32))"}]}"#,
      ["http://h/3.pdf md5=\(String(repeating: "a", count: 32))"]
    ),
    (["--url-field", "id"], "id,n\n4,x\n", ["http://h/4.pdf"]), ([], "5\n", ["http://h/5.pdf"]),
  ]) func aTemplateIsFilledIn(options: [String], text: String, expected: [String]) throws {
    let form = try ListForm(try ListOptions.parse(options + ["--url-template", "http://h/{}.pdf"]))
    let found = try ListText(form: form).entries(text).map { $0.drop { $0 != " " }.dropFirst() }
    #expect(found.map(String.init) == expected)
  }

  @Test func depthIsBounded() throws {
    let text = String(repeating: "[", count: 100_000)
    let entries = try Self.list().entries(text)
    #expect(entries.count == 1 && entries[0].hasPrefix("1 damaged: it is nested more than 128 deep, at [0][0]"))
    let deep = String(repeating: "[", count: 127) + #"{"url":"http://h/a"}"# + String(repeating: "]", count: 127)
    #expect(try Self.list(String(repeating: "[]", count: 127)).entries(deep) == ["1 http://h/a"])
  }

  /// An endless text takes no room, whether it is wanted or not.
  @Test func anEndlessText() throws {
    var reader = try Self.list().form.reader(of: [], named: "x")
    let block = [UInt8](repeating: 0x61, count: 1 << 20)
    for start in [#"[{"x":""#, #"","url":"http://h/"#] {
      #expect(try reader.take(Array(start.utf8), base: nil).isEmpty)
      for _ in 0..<16 { #expect(try reader.take(block, base: nil).isEmpty) }
    }
    let entries = try reader.take(Array(#""},{"url":"http://h/b"}]"#.utf8), base: nil)
    guard entries.count == 2, case .bad(.tooLong, _) = entries[0].content, case .address = entries[1].content else {
      Issue.record("\(entries.count)")
      return
    }
  }

  @Test func damagedDocuments() {
    let sample =
      #"{"n":[1,2.5,null],"f":[{"url":"http://h/\u00e4","size":1},{"url":"http://h/b","x":{"y":"\"z"}}]}"#
    FormatReading.fuzz(sample, Self.list("f[]").form)
    FormatReading.fuzz(sample, ListForm())
    FormatReading.fuzz("{\"url\":\"http://h/a\"}\n{\"url\":\"http://h/b\"}\n{\"url\":\"http://h/c\"}\n", ListForm())
  }

  /// What Python and jq have written, compact and indented, reads back as it was.
  @Test func jsonOfOthers() async throws {
    let folder = try TestSupport.TemporaryFolder()
    let script = """
      import json, sys
      items = [{'name': n, 'url': 'http://h/%d' % i, 'x': [1e300, None, {}]} for i, n in enumerate(['a"b', 'ä', '😀', 'a\\\\b'])]
      json.dump(items, open(sys.argv[1] + '/1', 'w'))
      json.dump(items, open(sys.argv[1] + '/2', 'w'), indent=2, ensure_ascii=False)
      open(sys.argv[1] + '/3', 'w').writelines(json.dumps(i) + '\\n' for i in items)
      """
    #expect(try await CommandRun.result(of: "/usr/bin/python3", ["-c", script, folder.path]).status == 0)
    let jq = "jq . 1 >4 && jq -c . 1 >5 && jq '.[]' 1 >6 && jq -c '.[]' 1 >7"
    let hasJQ = FileManager.default.isExecutableFile(atPath: "/usr/bin/jq")
    if hasJQ { #expect(try await CommandRun.result(of: "/bin/sh", ["-c", jq], folder: folder.path).status == 0) }
    let expected = ["a\"b", "ä", "😀", "a\\b"].enumerated().map { "http://h/\($0) out=\($1)" }
    for file in 1...(hasJQ ? 7 : 3) {
      let list = Self.list([3, 6, 7].contains(file) ? "" : "[]", [.url: "url", .name: "name"])
      let text = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(file)")))
      let entries = try list.entries(text).map { $0.drop { $0 != " " }.dropFirst() }
      #expect(entries.map(String.init) == expected, "\(file): \(entries)")
    }
  }
}
