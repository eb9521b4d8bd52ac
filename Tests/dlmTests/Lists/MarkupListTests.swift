import DownloadModel
import TestSupport
import Testing

@testable import dlm

@Suite("Lists in XML, and pages whose links are a list")
struct MarkupListTests {
  private static let sum = String(repeating: "ab", count: 32)

  /// After the example of RFC 5854 §1.1, with what it leaves out: pieces, another kind of address, a folder.
  static let metalink4 = """
    <?xml version="1.0" encoding="UTF-8"?>
    <metalink xmlns="urn:ietf:params:xml:ns:metalink">
      <file name="sub/example.ext">
        <size>14471447</size>
        <hash type="md5">\(sum.prefix(32))</hash>
        <hash type="sha-256">\(sum)</hash>
        <pieces length="16777216" type="sha-256"><hash>\(sum)</hash></pieces>
        <url location="de" priority="2">ftp://ftp.example.com/example.ext</url>
        <url location="fr" priority="3">http://example.com/example.ext</url>
        <url priority="1">https://m.example.com/example.ext</url>
        <metaurl mediatype="torrent" priority="2">http://example.com/example.ext.torrent</metaurl>
      </file>
      <file name="../up"><url>http://h/up</url></file>
      <file name="b"><url>gopher://h/b</url></file>
      <file name="c"><url>
        http://h/c
      </url></file>
    </metalink>
    """

  /// Of the form that version 3 has in its specification (metalinker.org, 2.0 of 2007).
  static let metalink3 = """
    <metalink version="3.0" xmlns="http://www.metalinker.org/">
      <files><file name="a.iso"><size>5</size>
        <verification><hash type="sha256">\(sum)</hash>
          <pieces length="8" type="sha1"><hash piece="0">\(sum.prefix(40))</hash></pieces></verification>
        <resources>
          <url type="http" location="us" preference="90">http://slow/a.iso</url>
          <url type="http" preference="100">http://fast/a.iso</url>
          <url type="bittorrent">http://h/a.torrent</url>
        </resources></file></files>
    </metalink>
    """

  /// As MirrorManager writes them for Fedora and CentOS: what older versions had stands below `mm0:alternates`.
  static func fedora(_ ml: String, _ alternate: String) -> String {
    """
    <?xml version="1.0" encoding="utf-8"?>
    <\(ml)metalink version="3.0" xmlns="http://www.metalinker.org/" type="dynamic" generator="mirrormanager"
      xmlns:mm0="http://fedorahosted.org/mirrormanager" xmlns:ml="http://www.metalinker.org/">
     <\(ml)publisher><\(ml)name>Fedora</\(ml)name><\(ml)url>http://publisher/</\(ml)url></\(ml)publisher>
     <\(ml)files><\(ml)file name="repomd.xml">
       <mm0:timestamp>1546547880</mm0:timestamp><\(ml)size>4245</\(ml)size><mm0:size>1</mm0:size>
       <\(ml)verification><\(ml)hash type="sha256">\(sum)</\(ml)hash></\(ml)verification>
       <mm0:alternates><mm0:alternate><mm0:timestamp>1546461480</mm0:timestamp><\(alternate)size>4206</\(alternate)size>
         <\(alternate)verification><\(alternate)hash type="sha512">\(sum)\(sum)</\(alternate)hash>
         </\(alternate)verification></mm0:alternate></mm0:alternates>
       <\(ml)publisher><\(ml)url>http://publisher/too</\(ml)url></\(ml)publisher>
       <\(ml)resources maxconnections="1">
        <\(ml)url protocol="https" preference="100">https://mirror/repodata/repomd.xml</\(ml)url>
       </\(ml)resources>
      </\(ml)file></\(ml)files>
    </\(ml)metalink>
    """
  }

  @Test(arguments: [("", ""), ("", "mm0:"), ("ml:", "ml:"), ("ml:", "mm0:")])
  func otherNamesMeanNothing(ml: String, alternate: String) {
    let list = ReadList(Array(Self.fedora(ml, alternate).utf8)) { try MarkupList(isPage: false, accepted: []) }
    #expect(
      list.entries == ["15: https://mirror/repodata/repomd.xml size=4245 out=repomd.xml sha256=\(Self.sum)"], "\(list)")
    #expect(list.trouble == nil)
  }

  static let sitemap = """
    <?xml version="1.0" encoding="UTF-8"?>
    <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://x">
      <url><loc>http://h/a?x=1&amp;y=2</loc><image:image><image:loc>http://h/i.jpg</image:loc></image:image></url>
      <url><loc><![CDATA[http://h/b]]></loc><lastmod>2026-01-01</lastmod></url>
      <url><loc>nonsense</loc></url>
    </urlset>
    """

  static let page = """
    <!DOCTYPE html><html><body>
    <a href="?C=M;O=A">by date</a><a href="/">up</a><a href="sub/">folder</a><a href="#top">top</a>
    <a href="x.pdf">x<p><a href='y%20z.pdf'>y</a><img src=pic.jpg><a href="mailto:x@y">mail</a>
    <a href="x.pdf#2">again</a><a href="https://other/o.pdf?a=1&amp;b=2">o</a>
    </html>
    """

  struct Sample: Sendable {
    let text: String
    var isPage = false
    var accepted: [String] = []
    var base: String?
    let expected: [String]
    var said: String?

    func read(_ bytes: [UInt8]? = nil, in sizes: [Int] = [1 << 16]) throws -> ReadList {
      let base = try self.base.map { try Address($0) }
      return ReadList(bytes ?? Array(text.utf8), in: sizes, base: base) {
        try MarkupList(isPage: isPage, accepted: accepted.map { NamePattern($0) })
      }
    }
  }

  static let samples: [Sample] = [
    Sample(
      text: metalink4,
      expected: [
        "12: https://m.example.com/example.ext size=14471447 dir=sub out=example.ext sha256=\(sum) "
          + "mirror=ftp://ftp.example.com/example.ext mirror=http://example.com/example.ext",
        "13! option(\"file name=\\\"../up\\\"\") http://h/up",
        "14! malformed(DownloadModel.Address.Malformed.unsupportedScheme(\"gopher\")) gopher://h/b",
        "17: http://h/c out=c",
      ], said: "a Metalink"),
    Sample(
      text: metalink3,
      expected: [
        "9: http://fast/a.iso size=5 out=a.iso sha256=\(sum) mirror=http://slow/a.iso mirror=http://h/a.torrent"
      ]),
    Sample(
      text: sitemap,
      expected: [
        "3: http://h/a?x=1&y=2", "4: http://h/b", "5! malformed(DownloadModel.Address.Malformed.noScheme) nonsense",
      ],
      said: "a sitemap"),
    Sample(
      text: "<sitemapindex><sitemap><loc>http://h/1.xml.gz</loc></sitemap></sitemapindex>",
      expected: ["1: http://h/1.xml.gz"]),
    Sample(
      text: "<rss version='2.0'><channel><item>\n<enclosure url='http://h/a.mp3' length='12' type='audio/mpeg'/></item>"
        + "<item><link>http://h/page</link><enclosure url='b.mp3' length='0'/></item></channel></rss>",
      base: "http://h/feed/", expected: ["2: http://h/a.mp3 size=1K", "2: http://h/feed/b.mp3"],
      said: "a feed, whose enclosures are downloaded"),
    Sample(
      text: "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link rel='alternate' href='http://h/p'/>"
        + "<link rel='enclosure' href='http://h/a' length='7'/></entry></feed>", expected: ["1: http://h/a size=1K"]),
    Sample(
      text: page, isPage: true, accepted: ["*.pdf"], base: "http://h/d/",
      expected: ["3: http://h/d/x.pdf", "3: http://h/d/y%20z.pdf", "4: https://other/o.pdf?a=1&b=2"]),
    Sample(
      text: page, isPage: true, base: "http://h/d/",
      expected: [
        "3: http://h/d/x.pdf", "3: http://h/d/y%20z.pdf", "3: http://h/d/pic.jpg", "4: https://other/o.pdf?a=1&b=2",
      ]),
    Sample(
      text: "<html><base href='/pub/'><a href=x>x", isPage: true, base: "http://h/d/", expected: ["1: http://h/pub/x"]),
  ]

  @Test(arguments: samples.indices) func table(index: Int) throws {
    let sample = Self.samples[index]
    let list = try sample.read()
    #expect(list.entries == sample.expected && list.trouble == nil, "\(list)")
    if let said = sample.said {
      var reader = try MarkupList(isPage: sample.isPage, accepted: [])
      _ = try reader.take(Array(sample.text.utf8), base: nil)
      #expect(reader.said == said)
    }
    // Wherever the blocks end.
    for size in 1..<40 { #expect(try sample.read(in: [size]) == list, "\(size)") }
  }

  private static func hashes(_ attributes: String, _ digits: Int, _ count: Int, number: String = "") -> String {
    let hash = "<hash\(number)>\(String(repeating: "0", count: digits))</hash>"
    return "<pieces \(attributes)>\(String(repeating: hash, count: count))</pieces>"
  }

  // Its type is written out: the compiler took half a minute to find it.
  private static let pieces: [(String, String?)] = [
    ("<size>5</size>" + hashes("length='2' type='sha1'", 40, 3), "sha1 2 3"),
    ("<size>5</size>" + hashes("length='2' type='sha1'", 40, 2), "2 pieces of 2 bytes for a size of 5"),
    ("<size>0</size>" + hashes("length='2' type='sha1'", 40, 0), nil), ("<size>1.2 MB</size>", "size=1.2MB"),
    ("<size>-1</size>", "size=-1"), ("<size> 5\n</size>", nil), ("<size/>", nil),
    (hashes("length='2' type='SHA-1'", 40, 2), "sha1 2 2"),
    (hashes("length='2' type='sha-256'", 64, 2) + hashes("length='4' type='md5'", 32, 1), "sha256 2 2"),
    (hashes("length='4' type='md5'", 32, 1) + hashes("length='2' type='sha-256'", 64, 2), "sha256 2 2"),
    (hashes("length='4' type='tiger'", 48, 1), nil), (hashes("length='0' type='md5'", 32, 1), nil),
    (hashes("type='md5'", 32, 1), nil), (hashes("length='4' type='md5'", 2, 1), "piece 0=00"),
    (hashes("length='4' type='md5'", 32, 2, number: " piece='0'"), "piece 0=\(String(repeating: "0", count: 32))"),
  ]

  /// Of the kinds of pieces the strongest counts, and there must be as many as the file has.
  @Test(arguments: pieces) func piecesAreTaken(text: String, expected: String?) throws {
    let text = "<metalink><file name='f'>\(text)<url>http://h/f</url></file></metalink>"
    var reader = try MarkupList(isPage: false, accepted: [])
    switch try reader.take(Array(text.utf8), base: nil).first?.content {
    case .address(_, let options?):
      let found = options.pieces.map { "\($0.algorithm) \($0.length) \($0.hashes.count / $0.algorithm.length)" }
      #expect(found == expected, "\(text)")
    case .bad(.field(let what), _): #expect(what == expected, "\(text)")
    case let other: Issue.record("\(String(describing: other))")
    }
  }

  @Test func endlessPiecesAreRefused() throws {
    var reader = try MarkupList(isPage: false, accepted: [])
    let hash = "<hash>00000000</hash>"
    _ = try reader.take(Array("<metalink><file name='f'><pieces length='1' type='crc32c'>".utf8), base: nil)
    for _ in 0..<101 { _ = try reader.take(Array(String(repeating: hash, count: 10_000).utf8), base: nil) }
    let end = try reader.take(Array("</pieces><url>http://h/f</url></file></metalink>".utf8), base: nil)
    guard case .bad(.field("more than 1000000 pieces"), _) = end.first?.content else {
      Issue.record("\(end)")
      return
    }
  }

  /// What is damaged ends with a word, and what stands before it is taken.
  @Test(arguments: [
    ("<urlset><url><loc>http://h/a</loc></url>", 1, "ends in the middle"),
    ("<urlset><url><loc>http://h/a</loc></url></wrong>", 1, "mismatch"),
    ("<kml><Document/></kml>", 0, "kml"),
    // An entity that the list declares is none: a bomb is nothing else.
    (
      "<!DOCTYPE x [<!ENTITY a 'http://h/'><!ENTITY b '&a;&a;'>]><urlset><url><loc>&b;</loc></url></urlset>", 0,
      "Entity"
    ),
    ("<urlset>" + String(repeating: "<a>", count: 5000), 0, "too deeply"),
  ]) func damage(text: String, count: Int, trouble: String) {
    let list = ReadList(Array(text.utf8)) { try MarkupList(isPage: false, accepted: []) }
    #expect(list.entries.count == count && list.trouble?.contains(trouble) == true, "\(list)")
  }

  private static func attributes(_ count: Int) -> String { (0..<count).map { " a\($0)=\"\"" }.joined() }

  /// The library compares each attribute with all others: a hundred thousand took minutes.
  @Test(arguments: [false, true]) func attributesAreBounded(isPage: Bool) {
    let (name, link) = isPage ? ("html", "<a href=http://h/a>") : ("urlset", "<url><loc>http://h/a</loc></url>")
    let list = ReadList(Array("<\(name)>\(link)<b\(Self.attributes(100_000))>".utf8)) {
      try MarkupList(isPage: isPage, accepted: [])
    }
    #expect(list.entries.count == 1 && list.trouble?.contains("too many attributes") == true, "\(list)")
    let few = ReadList(Array("<\(name)>\(link)<b\(Self.attributes(1000))/>\(link)</\(name)>".utf8)) {
      try MarkupList(isPage: isPage, accepted: [])
    }
    #expect(few.trouble == nil && few.entries.count == (isPage ? 1 : 2), "\(few)")
  }

  /// Neither a picture within a page nor a script, a comment or blanks are attributes.
  @Test func longPartsOfPages() {
    let blank = String(repeating: "x = ", count: 100_000)
    let picture = "<img alt='' src='data:image/png;base64,\(String(repeating: "A", count: 500_000))'>"
    let comment = "<!-- \(blank.prefix(50_000))-->"
    let parts = [picture, "<script>\(blank)</script>", "<style>\(blank)</style>", comment, blank]
    let text = "<html><a href=http://h/0>" + parts.enumerated().map { "\($1)<a href=http://h/\($0 + 1)>" }.joined()
    let page = ReadList(Array(text.utf8), in: [4096]) { try MarkupList(isPage: true, accepted: []) }
    #expect(page.trouble == nil && page.entries.filter { $0.contains("http://h/") }.count == 6, "\(page.entries)")
    let xml =
      "<urlset>\(comment)\(String(repeating: " \n", count: 100_000))<url><loc>http://h/a</loc></url></urlset>"
    let list = ReadList(Array(xml.utf8), in: [4096]) { try MarkupList(isPage: false, accepted: []) }
    #expect(list.trouble == nil && list.entries.count == 1, "\(list.entries) \(list.trouble ?? "")")
  }

  @Test func whatIsEndlessIsRefused() {
    let text = "<urlset><url><loc>http://h/" + String(repeating: "x", count: 30 << 20) + "</loc></url></urlset>"
    let list = ReadList(Array(text.utf8)) { try MarkupList(isPage: false, accepted: []) }
    #expect(list.entries.allSatisfy { $0.contains("tooLong") }, "\(list.entries.map { $0.prefix(80) })")
  }

  @Test(arguments: 0..<UInt64(300)) func anything(seed: UInt64) throws {
    let sample = Self.samples[Int(seed) % Self.samples.count]
    var random = SeededGenerator(seed)
    let bytes = FormatReading.damaged(Array(sample.text.utf8), by: &random)
    let list = try sample.read(bytes)
    #expect(list.entries.count <= 16)
    #expect(try sample.read(bytes, in: [7]).entries.count <= 16)
  }

  @Test(arguments: [
    ("<?xml version='1.0'?>\n<metalink/>", false, ListFormat.xml), ("\u{FEFF}  <urlset>", false, .xml),
    ("<!DOCTYPE HTML>", true, .html), ("http://h/a\n", true, .lines),
    // Pages as they are in the wild.
    ("<head>\n<title>x</title>", true, .html), ("<pre><a href=x>x</a>\n", true, .html),
    ("<a href=x>x</a>", true, .html),
    ("<!-- made by x -->\n<p>a</p>", true, .html), ("<!-- \(String(repeating: "x ", count: 4000))", true, .html),
    ("<?xml version='1.0'?><!-- a --><!DOCTYPE html PUBLIC 'x'><html xmlns='y'>", true, .html),
    ("<?xml version='1.0'?><html xmlns='y'>", true, .html),
    ("<?xml version='1.0'?><?xml-stylesheet x?><!-- a --><rss>", true, .xml), ("<!-- a --><m:metalink>", false, .xml),
    ("<kml xmlns='x'>", true, .xml),
    // Brackets that are no markup.
    ("<https://h/a>\n", true, .lines), ("<<<< here\n", true, .lines),
  ]) func isFoundOut(start: String, takesPages: Bool, format: ListFormat) throws {
    var form = ListForm()
    if takesPages { form.accepted = [NamePattern("*")] }
    #expect(try form.found(in: Array(start.utf8), named: "list") == format)
  }

  @Test(arguments: ["<!doctype html>", "<head>", "<pre>", "<!-- x -->\n<table>", "<a href=x>x</a>", "<?xml?><html>"])
  func aPageAloneIsNoList(start: String) {
    #expect(throws: Rejection.NoList.page) { try ListForm().found(in: Array(start.utf8), named: "list") }
  }

  /// Where markup comes later, it is no relative URL.
  @Test func markupIsNoURL() throws {
    var list = ListText()
    list.base = try Address("http://h/")
    #expect(
      try list.entries("a.txt\n<a href=b.txt>b</a>\n") == [
        "1 http://h/a.txt",
        "2 bad <a href=b.txt>b</a>: malformed(DownloadModel.Address.Malformed.noScheme)",
      ])
  }

  /// Names count by their namespace: another one may have no prefix, and the list's own may have several.
  @Test(arguments: [
    (
      "<metalink xmlns='N'><file name='f'><hash xmlns='M' type='sha-256'>\(sum)</hash><size xmlns='M'>9</size>"
        + "<x:size xmlns:x='N'>5</x:size><url>http://h/f</url></file></metalink>", ["1: http://h/f size=5 out=f"]
    ),
    (
      "<m:metalink xmlns:m='N' xmlns='M'><m:file name='f'><size>9</size><m:url>http://h/f</m:url></m:file></m:metalink>",
      ["1: http://h/f out=f"]
    ),
    ("<metalink xmlns='N' xmlns:q='M'><q:file name='g'><url>http://h/g</url></q:file></metalink>", []),
    (
      "<metalink><file name='f'><url xmlns='M'>http://h/no</url><url xmlns=''>http://h/f</url></file></metalink>",
      ["1: http://h/f out=f"]
    ),
  ]) func namespacesCount(text: String, expected: [String]) {
    let list = ReadList(Array(text.utf8)) { try MarkupList(isPage: false, accepted: []) }
    #expect(list.entries == expected && list.trouble == nil, "\(list)")
  }

  /// What its page has instead is said, and the run fails.
  @Test(
    arguments: [
      ("*.zip", "has no link that matches --accept; its links: x.pdf, y%20z.pdf, pic.jpg, o.pdf\n"),
      ("*.pdf", nil),
    ] as [(String, String?)]) func linksThatNoPatternTakes(pattern: String, said: String?) async throws
  {
    let place = try Workplace()
    let page = Self.page.replacing("x.pdf#2", with: "x.pdf")
    _ = try place.folder.write(Array(page.utf8), to: "work/page.html")
    let run = try await place.dlm(
      "get", "page.html", "--accept", pattern, "--base", "http://127.0.0.1:9/", "--dry-run", "--offline")
    #expect(run.status == (said == nil ? 0 : 66), "\(run.errorText)")
    if let said { #expect(run.errorText.contains("page.html \(said)"), "\(run.errorText)") }
    _ = try place.folder.write(Array("<p>nothing here</p>".utf8), to: "work/empty.html")
    let none = try await place.dlm("get", "empty.html", "--accept", pattern, "--base", "http://127.0.0.1:9/")
    #expect(none.status == 66 && none.errorText.contains("has no links to files"), "\(none.errorText)")
  }

  /// A page's links are fetched by one command; a saved page needs to be told where it is from.
  @Test func linksAreFetched() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/d/", .file(Array(Self.page.utf8)))
    for name in ["x.pdf", "y%20z.pdf"] { origin.route("/d/\(name)", .file(Array(name.utf8))) }
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/d/"), "--accept", "[xy]*.pdf")
    #expect(run.status == 0 && run.errorText.contains("a web page, whose links are downloaded"), "\(run.errorText)")
    #expect(try place.names() == ["x.pdf", "y z.pdf"])
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 2 files"), "\(again.errorText)")
    let saved = try place.folder.write(Array(Self.page.utf8), to: "work/saved.html")
    let relative = try await place.dlm("get", saved, "--accept", "*.pdf")
    #expect(relative.status == 66 && relative.errorText.contains("--base"), "\(relative.errorText)")
  }

  /// Loaded when it is needed: linked, it would make every start longer.
  @Test func theLibraryIsNotLinked() async throws {
    let needed = try await CommandRun.result(of: "readelf", ["-dW", try DLMExecutable.path()]).outputText
    #expect(needed.contains("libcurl") && !needed.contains("libxml2"), "\(needed)")
  }
}
