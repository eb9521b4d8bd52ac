import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("Tables as lists: CSV and TSV")
struct TableRowsTests {
  private static func table(
    _ fields: [RowFields.Field: String] = [.url: "url"], _ format: ListFormat? = .csv, split: Character? = nil
  ) -> ListText {
    var form = ListForm()
    form.format = format
    form.fields = RowFields(names: fields, split: split?.asciiValue)
    return ListText(form: form)
  }

  private static let md5 = String(repeating: "ab", count: 16)
  private static let sha = String(repeating: "cd", count: 32)

  /// A header `url,n` or `url`, rows, and what comes of them.
  static let rows: [(text: String, expected: [String])] = [
    ("url,n\nhttp://h/a,1\n", ["2 http://h/a"]),
    // RFC 4180 §2: 1 to 7, in its order.
    ("url,n\r\nhttp://h/a,1\r\nhttp://h/b,2\r\n", ["2 http://h/a", "3 http://h/b"]),
    ("url,n\r\nhttp://h/a,1\r\nhttp://h/b,2", ["2 http://h/a", "3 http://h/b"]),
    ("n,url\n1,http://h/a\n", ["2 http://h/a"]),
    ("url,n\nhttp://h/a b ,1\n", ["2 http://h/a%20b"]),
    ("url,n\n\"http://h/a\",\"1\"\n", ["2 http://h/a"]),
    ("url,n\n\"http://h/a,b\",\"x\r\ny\"\r\nhttp://h/c,\n", ["2 http://h/a,b", "4 http://h/c"]),
    ("n,url\n\"a \"\"b\"\", c\",http://h/a\n", ["2 http://h/a"]),
    ("url\n\"http://h/a\"\"b\"\n", ["2 http://h/a\"b"]),
    // What it does not say: as Python's csv reads it.
    ("url,n\n\"http://h/a\"b,1\n", ["2 http://h/ab"]), ("url,n\nhttp://h/a\"b,1\n", ["2 http://h/a\"b"]),
    ("\u{FEFF}url,n\nhttp://h/a,1\n", ["2 http://h/a"]), ("\u{FEFF}\"url\",n\nhttp://h/a,1\n", ["2 http://h/a"]),
    ("url,n\n\n\r\nhttp://h/a,1\n\n", ["4 http://h/a"]), ("url,n\n,1\nhttp://h/a,\n", ["3 http://h/a"]),
    ("n,url\n1\n2,http://h/a\n", ["2 bad 1: malformed(DownloadModel.Address.Malformed.empty)", "3 http://h/a"]),
    ("url,n\nhttp://h/a,1,2,3\n", ["2 http://h/a"]), ("url,n\n", []), ("url", []),
    ("url,n\nhttp://h/a,1\n\"http://h/b,2\nhttp://h/c,3\n", ["2 http://h/a", "3 damaged: a quote is never closed"]),
    (
      "url,n\ngopher://h/a,1\nhttp://h/b,1\n",
      [
        "2 bad gopher://h/a: malformed(DownloadModel.Address.Malformed.unsupportedScheme(\"gopher\"))", "3 http://h/b",
      ]
    ),
    // A cell is an address alone, and gets a scheme if it has a host.
    (
      "url,n\n\"http://h/a\theader=X: y\",1\n",
      [
        "2 bad http://h/a: malformed(DownloadModel.Address.Malformed.controlCharacter)"
      ]
    ),
    ("url,n\nftp.example.org/x/a.gz,1\n", ["2 https://ftp.example.org/x/a.gz"]),
  ]

  @Test(arguments: rows.indices) func rfc4180(index: Int) throws {
    let (text, expected) = Self.rows[index]
    #expect(try Self.table().entries(text) == expected, "\(text.debugDescription)")
    #expect(try Self.table().sizeOfOtherResult(Array(text.utf8)) == nil, "\(text.debugDescription)")
  }

  @Test func tabsAreNotQuotedWithin() throws {
    let text = "n\turl\n5\" disk\thttp://h/a\n\"a\tb\"\thttp://h/b\n"
    #expect(try Self.table([.url: "url"], .tsv).entries(text) == ["2 http://h/a", "3 http://h/b"])
  }

  @Test func fieldsSayMoreOfAFile() throws {
    let all: [RowFields.Field: String] = [.url: "url", .name: "name", .checksum: "sum", .size: "4"]
    let text = """
      url,name,sum,bytes
      http://h/1,d/x.bin,\(Self.md5),12
      http://h/2,,md5:\(Self.md5),
      http://h/3,y,sha256:\(Self.sha),1
      http://h/4,../y,,
      http://h/5,,abc,
      http://h/6,,,many

      """
    #expect(
      try Self.table(all).entries(text) == [
        "2 http://h/1 size=12 dir=d out=x.bin md5=\(Self.md5)", "3 http://h/2 md5=\(Self.md5)",
        "4 http://h/3 size=1 out=y sha256=\(Self.sha)", "5 bad http://h/4: row(\"its name cannot be used: ../y\")",
        "6 bad http://h/5: row(\"its sum cannot be used: abc (--checksum-field none ignores it)\")",
        "7 bad http://h/6: row(\"its bytes cannot be used: many (--size-field none ignores it)\")",
      ])
  }

  @Test func severalValuesOfACell() throws {
    let text =
      "url,sum\nhttp://h/1;http://h/2,\(Self.md5);\(Self.sha)\nhttp://h/3,\n,\nhttp://h/4;http://h/5,\(Self.md5)\n"
    let table = Self.table([.url: "url", .checksum: "sum"], split: ";")
    #expect(
      try table.entries(text) == [
        "2 http://h/1 md5=\(Self.md5)", "2 http://h/2 sha256=\(Self.sha)", "3 http://h/3",
        "5 bad http://h/4;http://h/5: row(\"sum has 1 values for 2 URLs\")",
      ])
  }

  @Test func columnsByNumber() throws {
    for text in ["a,http://h/1\nb,http://h/2\n", "n,link\na,http://h/1\nb,http://h/2\n"] {
      let lines = try Self.table([.url: "2"]).entries(text).map { $0.dropFirst(2) }
      #expect(lines == ["http://h/1", "http://h/2"])
    }
    #expect(throws: Rejection.NoList.field("3", among: [])) {
      try Self.table([.url: "3"]).entries("a,http://h/1\nb,c\n")
    }
  }

  /// Names of files, texts, and the format that is found with the column of addresses.
  static let found: [(name: String, text: String, said: String?)] = [
    ("x.txt", "id\tlink\n1\thttp://h/a\n", "a table, URLs in link"),
    ("x.txt", "id,where\n1,http://h/a\n", "a table, URLs in where"),
    ("x.tsv", "run\tfastq_ftp\nr\tftp.h.org/a\n", "a table, URLs in fastq_ftp"),
    ("http://h/x.csv.gz?y=1", "where\nhttp://h/a\n", "a table, URLs in where"),
    ("x", "homepage,url\nhttp://h/,http://h/a\n", "a table, URLs in url"),
    // A plain list stays one.
    ("x.csv", "http://h/a\nhttp://h/b\n", nil), ("x.csv", "# a, b\nhttp://h/b\n", nil),
    ("x", "a,b.txt\nhttp://h/c\n", nil),
    ("x", "a\tout=b\nhttp://h/c\tout=d\n", nil), ("x", "http://h/a,b\nhttp://h/c,d\n", nil), ("x.tsv", "", nil),
  ]

  @Test(arguments: found.indices) func formats(index: Int) throws {
    let (name, text, said) = Self.found[index]
    var list = ListText(name: name)
    list.base = try Address("http://base/")
    #expect(try list.said(text) == said, "\(text.debugDescription)")
  }

  @Test func whatIsAmbiguousIsAsked() {
    let two = "a,b\nhttp://h/1,http://h/2\n"
    #expect(throws: Rejection.NoList.field(nil, among: ["a", "b"])) { try Self.table([:]).entries(two) }
    #expect(throws: Rejection.NoList.field(nil, among: ["a", "b"])) { try Self.table([:]).entries("a,b\n1,2\n") }
    #expect(throws: Rejection.NoList.field("c", among: ["a", "b"])) { try Self.table([.url: "c"]).entries(two) }
    let messages: [(Rejection.NoList, String)] = [
      (
        .field(nil, among: ["a", "b"]),
        "does not tell which field holds the URLs; candidates: a, b. Choose with --url-field, in JSON also --items"
      ),
      (.field("nope", among: ["a"], option: "size-field"), "has no field \"nope\" for --size-field (fields: a)"),
    ]
    for (what, text) in messages {
      let list = Rejection(list: "x.csv", line: nil, text: "", reason: .noList(what))
      #expect(RejectionMessages(list).said == "dlm: x.csv \(text)")
    }
  }

  /// A table without a word on its fields: what is said of those that were found, and of its first file.
  static let used: [(text: String, used: String?, first: String)] = [
    ("url,md5,bytes\nhttp://h/a,\(md5),12\n", "checksums from md5, sizes from bytes", "size=12 md5=\(md5)"),
    (
      "url,MD5 sum,File size\nhttp://h/a,\(md5),12\n", "checksums from MD5 sum, sizes from File size",
      "size=12 md5=\(md5)"
    ),
    // Of several, the strongest, and what is of the same files.
    ("md5,url,sha256\n\(md5),http://h/a,\(sha)\n", "checksums from sha256", "sha256=\(sha)"),
    (
      "run\tfastq_ftp\tfastq_md5\tsubmitted_ftp\tsubmitted_md5\nR\th.org/a\t\(md5)\th.org/b\t\(sha)\n",
      "checksums from fastq_md5", "md5=\(md5)"
    ),
    ("link,source_md5\nhttp://h/a,\(md5)\n", nil, ""),
    // By content alone: no header, another language, an algorithm before it.
    ("http://h/a\t\(md5)\nhttp://h/b\t\(sha)\n", "checksums from column 2", "md5=\(md5)"),
    ("url,Pruefwert\nhttp://h/a,\(md5)\nhttp://h/b,\(md5)\n", "checksums from Pruefwert", "md5=\(md5)"),
    ("url,integrity\nhttp://h/a,sha256:\(sha)\n", "checksums from integrity", "sha256=\(sha)"),
    // What only looks so.
    ("url,id,commit,sha\nhttp://h/a,\(md5),\(sha),\(sha)\n", nil, ""),
    ("url,blake2s,sha3_256\nhttp://h/a,\(sha),\(sha)\n", nil, ""),
    ("url,md5\nhttp://h/a,\(sha)\n", nil, ""), ("url,n\nhttp://h/a,x\nhttp://h/b,\(md5)\n", nil, ""),
    // One that is damaged is a bad line, as is one further on.
    ("url,md5\nhttp://h/b,\(md5)\nhttp://h/a,x\n", "checksums from md5", "md5=\(md5)"),
    ("url,size_mb,pagesize,length,size\nhttp://h/a,1,2,3,1.5 MB\n", nil, ""),
    // Placeholders are none.
    ("url,md5,size\nhttp://h/b,-,NA\nhttp://h/a,\(md5),7\n", "checksums from md5, sizes from size", ""),
  ]

  @Test(arguments: used.indices) func fieldsOfChecksumsAndSizes(index: Int) throws {
    let (text, used, first) = Self.used[index]
    var form = ListForm()
    form.format = text.contains("\t") ? .tsv : .csv
    var reader = try form.reader(of: Array(text.utf8), named: "x")
    _ = try reader.take(Array(text.utf8), base: nil)
    #expect(reader.used == used, "\(text)")
    let list = ListText(form: form)
    let found = try #require(try list.entries(text).first)
    #expect(found.split(separator: " ").dropFirst(2).joined(separator: " ") == first, "\(text)")
    form.fields = RowFields(names: [.checksum: RowFields.none, .size: RowFields.none])
    #expect(try ListText(form: form).entries(text).first?.split(separator: " ").count == 2, "\(text)")
    #expect(try list.sizeOfOtherResult(Array(text.utf8)) == nil, "\(text)")
  }

  /// Several files of a row, as ENA's report has them, also where the first row has one.
  @Test func severalFilesOfARow() throws {
    let text =
      "run_accession\tfastq_ftp\tfastq_md5\tfastq_bytes\nR1\tftp.h.org/a\t\(Self.md5)\t1\n"
      + "R2\tftp.h.org/b;ftp.h.org/c\t\(Self.md5);\(Self.md5)\t2;3\nR3\t\t\t\nR4\tftp.h.org/d;ftp.h.org/e\t\(Self.md5)\t2;3\n"
    #expect(
      try ListText().entries(text) == [
        "2 https://ftp.h.org/a size=1 md5=\(Self.md5)", "3 https://ftp.h.org/b size=2 md5=\(Self.md5)",
        "3 https://ftp.h.org/c size=3 md5=\(Self.md5)",
        "5 bad ftp.h.org/d;ftp.h.org/e: row(\"fastq_md5 has 1 values for 2 URLs\")",
      ])
    // A semicolon of a URL is its own.
    #expect(try Self.table().entries("url,n\nhttp://h/a;b=1,1\n") == ["2 http://h/a;b=1"])
  }

  static let separated: [(text: String, expected: [String])] = [
    ("name;file_location\nx, y;http://h/a\n", ["2 http://h/a"]),
    ("sep=;\r\nname;url\r\nx;http://h/a\r\n", ["3 http://h/a"]),
    ("\u{FEFF}\"sep=|\"\nurl|md5\nhttp://h/a|\(md5)\n", ["3 http://h/a md5=\(md5)"]),
    ("sep=\t\nn\turl\n1\thttp://h/a\n", ["3 http://h/a"]),
    ("\"a;b;c\",url\n1,http://h/a\n", ["2 http://h/a"]), ("sep=;\nurl;n\n", []),
  ]

  @Test(arguments: separated.indices) func separators(index: Int) throws {
    let (text, expected) = Self.separated[index]
    #expect(try ListText().entries(text) == expected, "\(text.debugDescription)")
    var form = ListForm()
    form.format = .csv
    #expect(try ListText(form: form).entries(text) == expected, "\(text.debugDescription)")
    #expect(try ListText(form: form).sizeOfOtherResult(Array(text.utf8)) == nil, "\(text.debugDescription)")
  }

  /// A wrong checksum of an unnamed column fails the file, with the option that ignores the column.
  @Test func aWrongChecksumIsNoticed() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/a", .file([1]))
    let place = try Workplace()
    let text = "url,md5,bytes\n\(origin.url("/a")),\(Self.md5),1\n"
    _ = try place.folder.write(Array(text.utf8), to: "work/t.csv")
    let run = try await place.dlm("get", "t.csv")
    #expect(run.status == 1 && run.errorText.contains("checksum mismatch"), "\(run.errorText)")
    #expect(
      run.errorText.contains("dlm: t.csv: a table, URLs in url, checksums from md5, sizes from bytes\n"),
      "\(run.errorText)")
    let unchecked = try await place.dlm("get", "t.csv", "--list-format", "csv", "--checksum-field", "none")
    #expect(
      unchecked.status == 0 && unchecked.errorText.contains("t.csv: sizes from bytes\n"), "\(unchecked.errorText)")
  }

  @Test func damagedTables() {
    let sample = "url,n\nhttp://h/a,\"x, y\"\n\"http://h/b\",\"\"\"\"\nhttp://h/c,1\r\n"
    FormatReading.fuzz(sample, Self.table().form)
    FormatReading.fuzz(sample, Self.table([:], nil).form)
  }

  /// A gigabyte in one cell is refused, and the next row is read.
  @Test func anEndlessRow() throws {
    var reader = try Self.table().form.reader(of: [], named: "x")
    #expect(try reader.take(Array("url,n\nhttp://h/a,\"".utf8), base: nil).isEmpty)
    let block = [UInt8](repeating: 0x61, count: 1 << 20)
    for _ in 0..<64 { #expect(try reader.take(block, base: nil).isEmpty) }
    let entries = try reader.take(Array("\nhttp://h/b,1\n".utf8), base: nil)
    #expect(entries.map(\.line) == [2, 3])
    guard case .bad(.tooLong, _) = entries[0].content, case .address = entries[1].content else {
      Issue.record("\(entries)")
      return
    }
  }

  /// What Python's csv has written reads back as it was.
  @Test func pythonsTable() async throws {
    let folder = try TestSupport.TemporaryFolder()
    let script = """
      import csv, sys
      names = ['a,b', 'a"b', 'ä', 'a b', "a'b", ' a', 'a;b']
      with open(sys.argv[1], 'w', newline='') as f:
        w = csv.writer(f, dialect=sys.argv[2])
        w.writerow(['n', 'name', 'url'])
        for i, name in enumerate(names): w.writerow(['x\\ny, "z"', name, 'http://h/%d' % i])
      """
    for (dialect, format) in [("excel", ListFormat.csv), ("excel-tab", .tsv), ("unix", .csv)] {
      let path = folder.path(dialect)
      let run = try await CommandRun.result(of: "/usr/bin/python3", ["-c", script, path, dialect])
      #expect(run.status == 0, "\(run.errorText)")
      let entries = try Self.table([.url: "url", .name: "name"], format).entries(
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
      let names = ["a,b", "a\"b", "ä", "a b", "a'b", " a", "a;b"]
      let expected = names.enumerated().map { "\($0 * 2 + 2) http://h/\($0) out=\($1)" }
      #expect(entries == expected, "\(dialect): \(entries)")
    }
  }
}

@Suite("A list from standard input is kept as lines, whatever it was written in")
struct KeptListTests {
  @Test func isReadAgain() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file(Array(name.utf8))) }
    let place = try Workplace()
    let table = "id,link\n1,\(origin.url("/a"))\n2,\(origin.url("/b"))\n"
    let run = try await place.dlm(
      "get", "-", "--list-format", "csv", "--url-field", "link", "--keep-paths", input: Array(table.utf8))
    #expect(run.status == 0, "\(run.errorText)")
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
  }
}
