import ArgumentParser
import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

/// Samples are made by hand after what the publishers document, and name files at hosts of their own.
@Suite("Presets: whose list it is says how it is read")
struct PresetTests {
  private static let (md5, sha1) = (String(repeating: "ab", count: 16), String(repeating: "cd", count: 20))
  private static let sha256 = String(repeating: "ef", count: 32)

  struct Sample: Sendable {
    let source, list, text: String
    let expected: [String]
  }

  static let samples = [
    Sample(
      source: "commoncrawl:CC-MAIN-2024-10/warc",
      list: "https://data.commoncrawl.org/crawl-data/CC-MAIN-2024-10/warc.paths.gz",
      text: "crawl-data/CC-MAIN-2024-10/segments/1.2/warc/CC-MAIN-1.warc.gz\n",
      expected: ["1 https://data.commoncrawl.org/crawl-data/CC-MAIN-2024-10/segments/1.2/warc/CC-MAIN-1.warc.gz"]),
    Sample(
      source: "croissant:https://d.example/croissant.json", list: "https://d.example/croissant.json",
      text: #"""
        {"@context": {"@language": "en", "sc": "https://schema.org/"}, "@type": "sc:Dataset", "url": "https://d.example/",
         "distribution": [
          {"@type": "cr:FileObject", "@id": "x.zip", "name": "x.zip", "contentUrl": "https://d.example/x.zip",
           "contentSize": "12.3 MB", "encodingFormat": "application/zip", "sha256": "\#(sha256)"},
          {"@type": "cr:FileSet", "@id": "images", "containedIn": {"@id": "x.zip"}, "includes": "*.jpg"},
          {"@type": "cr:FileObject", "@id": "y", "contentUrl": "sub/y.csv", "containedIn": [{"@id": "x.zip"}]}]}
        """#,
      expected: ["3 https://d.example/x.zip sha256=\(sha256)"]),
    Sample(
      source: "ena:PRJEB1787",
      list: "https://www.ebi.ac.uk/ena/portal/api/filereport?accession=PRJEB1787&result=read_run"
        + "&fields=fastq_ftp,fastq_md5,fastq_bytes&format=tsv",
      text: "run_accession\tfastq_ftp\tfastq_md5\tfastq_bytes\n"
        + "ERR1\tftp.sra.ebi.ac.uk/vol1/ERR1_1.fastq.gz;ftp.sra.ebi.ac.uk/vol1/ERR1_2.fastq.gz\t\(md5);\(md5)\t7;8\n"
        + "ERR2\t\t\t\nERR3\tftp.sra.ebi.ac.uk/vol1/ERR3.fastq.gz\t\(md5)\t9\n",
      expected: [
        "2 https://ftp.sra.ebi.ac.uk/vol1/ERR1_1.fastq.gz size=7 md5=\(md5)",
        "2 https://ftp.sra.ebi.ac.uk/vol1/ERR1_2.fastq.gz size=8 md5=\(md5)",
        "4 https://ftp.sra.ebi.ac.uk/vol1/ERR3.fastq.gz size=9 md5=\(md5)",
      ]),
    Sample(
      source: "esgf:https://h.example/esg-search/wget?variable_id=tas",
      list: "https://h.example/esg-search/wget?variable_id=tas",
      text: "#!/bin/bash\n'tas.nc' 'http://n.example/v1/tas.nc' 'SHA256' '\(sha256)'\n",
      expected: ["2 http://n.example/v1/tas.nc out=tas.nc sha256=\(sha256)"]),
    Sample(
      source: "gdc:uuid-1,uuid-2", list: "https://api.gdc.cancer.gov/manifest/uuid-1,uuid-2",
      text: "id\tfilename\tmd5\tsize\tstate\nuuid-1\ta.bam\t\(md5)\t7\treleased\nuuid-2\tb.tsv\t\(md5)\t8\treleased\n",
      expected: [
        "2 https://api.gdc.cancer.gov/data/uuid-1 size=7 out=a.bam md5=\(md5)",
        "3 https://api.gdc.cancer.gov/data/uuid-2 size=8 out=b.tsv md5=\(md5)",
      ]),
    Sample(
      source: "hf:org/name", list: "https://huggingface.co/api/models/org/name?blobs=true",
      text: #"""
        {"id": "org/name", "sha": "main", "siblings": [
          {"rfilename": "config.json", "size": 7, "blobId": "\#(sha1)"},
          {"rfilename": "sub/a #1.bin", "size": 8, "lfs": {"sha256": "\#(sha256)", "size": 8, "pointerSize": 134}}]}
        """#,
      expected: [
        "2 https://huggingface.co/org/name/resolve/main/config.json size=7 out=config.json",
        "3 https://huggingface.co/org/name/resolve/main/sub/a%20%231.bin size=8 dir=sub out=a #1.bin sha256=\(sha256)",
      ]),
    Sample(
      source: "hf-datasets:org/name", list: "https://huggingface.co/api/datasets/org/name?blobs=true",
      text: #"{"siblings": [{"rfilename": "data/a.parquet", "size": 8, "lfs": {"sha256": "\#(sha256)"}}]}"#,
      expected: [
        "1 https://huggingface.co/datasets/org/name/resolve/main/data/a.parquet size=8 dir=data out=a.parquet "
          + "sha256=\(sha256)"
      ]),
    Sample(
      source: "ia:xfetch", list: "https://archive.org/metadata/xfetch",
      text: #"""
        {"created": 1616004182, "d1": "ia600308.us.archive.org", "files": [
          {"name": "x.pdf", "source": "original", "mtime": "1479169618", "size": "7", "md5": "\#(md5)", "sha1": "\#(sha1)"},
          {"name": "xfetch_files.xml", "source": "original", "md5": "\#(md5)", "summation": "md5"}], "files_count": 2}
        """#,
      expected: [
        "2 https://archive.org/download/xfetch/x.pdf size=7 out=x.pdf sha1=\(sha1)",
        "3 https://archive.org/download/xfetch/xfetch_files.xml out=xfetch_files.xml",
      ]),
    Sample(
      source: "stac:https://s.example/i/item.json", list: "https://s.example/i/item.json",
      text: #"""
        {"type": "Feature", "stac_version": "1.0.0", "links": [{"rel": "self", "href": "https://s.example/i/item.json"}],
         "assets": {"data": {"href": "./B04.tif", "type": "image/tiff", "file:size": 7,
         "file:checksum": "1220\#(sha256)"}}}
        {"type": "FeatureCollection", "features": [{"assets": {"thumb": {"href": "https://s.example/t.png"}}}]}
        """#,
      expected: ["2 https://s.example/i/B04.tif size=7 sha256=\(sha256)", "4 https://s.example/t.png"]),
    Sample(
      source: "wikimedia:enwiki/20250801", list: "https://dumps.wikimedia.org/enwiki/20250801/dumpstatus.json",
      text: #"""
        {"version": "0.8", "jobs": {"xmlstubsdump": {"status": "done", "files": {"enwiki-20250801-stub.xml.gz":
          {"size": 7, "url": "/enwiki/20250801/enwiki-20250801-stub.xml.gz", "md5": "\#(md5)", "sha1": "\#(sha1)"}}},
          "waiting": {"status": "waiting"}}}
        """#,
      expected: ["2 https://dumps.wikimedia.org/enwiki/20250801/enwiki-20250801-stub.xml.gz size=7 sha1=\(sha1)"]),
    Sample(
      source: "zenodo:3520874", list: "https://zenodo.org/api/records/3520874",
      text: #"""
        {"id": 3520874, "links": {"self": "https://zenodo.org/api/records/3520874"}, "files": [
          {"id": "1", "key": "data.csv", "size": 7, "checksum": "md5:\#(md5)",
           "links": {"self": "https://zenodo.org/api/records/3520874/files/data.csv/content"}}]}
        """#,
      expected: ["2 https://zenodo.org/api/records/3520874/files/data.csv/content size=7 out=data.csv md5=\(md5)"]),
  ]

  @Test(arguments: samples.indices) func sample(index: Int) throws {
    let sample = Self.samples[index]
    let named = try #require(Preset.named(by: sample.source))
    #expect(named.address == sample.list && Source(sample.source) == .listAt(sample.source))
    let form = named.preset.form(ListForm(), id: named.id)
    let list = ListText(form: form, base: try form.base ?? Address(sample.list))
    #expect(try list.entries(sample.text) == sample.expected)
    #expect(try list.sizeOfOtherResult(Array(sample.text.utf8)) == nil)
  }

  @Test func eachHasASample() {
    #expect(Self.samples.map { $0.source.prefix { $0 != ":" } } == Preset.allValueStrings.map { $0[...] })
  }

  @Test(
    arguments: [
      ("SRR000001", "ena:SRR000001"), ("PRJNA12345", "ena:PRJNA12345"), ("SAMEA104", "ena:SAMEA104"),
      ("sra:SRR000001", "ena:SRR000001"), ("doi:10.5281/zenodo.3520874", "zenodo:3520874"),
      ("DOI:10.5281/Zenodo.7", "zenodo:7"), ("hf:datasets/org/name", "hf-datasets:org/name"),
      ("hf:org/name", nil), ("SRR1", nil), ("SRR000001.txt", nil), ("ABC123456", nil), ("urls2024", nil),
      ("doi:10.1000/182", nil), ("srr000001", nil),
    ] as [(String, String?)])
  func otherNames(source: String, name: String?) {
    #expect(Preset.fullName(of: source) == name ?? source)
    if let name { #expect(Preset.named(by: source)?.address == Preset.named(by: name)?.address) }
  }

  /// A preset's columns may be missing; a column that the user named may not.
  @Test func aPresetsColumnsAreOptional() throws {
    let form = try ListForm(try ListOptions.parse(["--preset", "ena"]))
    let text = "run_accession\tfastq_ftp\nERR1\tftp.h.org/a;ftp.h.org/b\n"
    #expect(try ListText(form: form).entries(text) == ["2 https://ftp.h.org/a", "2 https://ftp.h.org/b"])
    let named = try ListForm(try ListOptions.parse(["--preset", "ena", "--size-field", "nope"]))
    #expect(throws: Rejection.NoList.field("nope", among: ["run_accession", "fastq_ftp"], option: "size-field")) {
      try ListText(form: named).entries(text)
    }
  }

  @Test func anAccessionIsSaid() async throws {
    let place = try Workplace()
    let run = try await place.dlm("get", "SRR000001", "--retries", "0", "--proxy", "http://127.0.0.1:9")
    #expect(run.errorText.contains("SRR000001 is read as ena:SRR000001"), "\(run.errorText)")
    #expect(run.errorText.contains("accession=SRR000001&"), "\(run.errorText)")
    let other = try await place.dlm("get", "doi:10.1000/182")
    #expect(other.status == 66 && other.errorText.contains("https://doi.org/10.1000/182"), "\(other.errorText)")
  }

  /// What is no preset stays what it was, and a login is not remembered as it stands.
  @Test func whatIsNoPreset() throws {
    #expect(Source("nobody:1") == .list(path: "nobody:1") && Source("zenodo:") == .list(path: "zenodo:"))
    #expect(Source("stac:https://u:p@h/x") == .address("stac:https://u:p@h/x"))
    #expect(Source("stac:https://h/x?token=1") == .address("stac:https://h/x?token=1"))
    #expect(!Source("stac:https://u:p@h/x").name.contains("p@"))
  }

  /// Of a search, and of what a STAC API answers.
  @Test func pages() throws {
    func next(_ source: String, _ text: String) throws -> (String?, [ListEntry]) {
      let named = try #require(Preset.named(by: source))
      let form = named.preset.form(ListForm(), id: named.id)
      var reader = try #require(try form.reader(of: Array(text.utf8), named: source) as? JSONItems)
      let entries = try reader.take(Array(text.utf8), base: try Address("https://h/")) + reader.take([], base: nil)
      return (reader.next, entries)
    }
    let search =
      #"{"hits":{"hits":[{"files":[{"key":"a","links":{"self":"https://z/a"}}]}]},"links":{"next":"https://z/2"}}"#
    let (second, found) = try next("zenodo:?q=x", search)
    #expect(second == "https://z/2" && found.count == 1)
    let items =
      #"{"features":[{"assets":{"a":{"href":"a.tif"}},"links":[{"rel":"next","href":"no"}]}],"links":[{"rel":"next","href":"?t=2"}]}"#
    let (more, assets) = try next("stac:https://h/search", items)
    #expect(more == "?t=2" && assets.count == 1)
  }

  /// In `presets.conf` of the settings folder, in the form of the table.
  @Test func theUsersOwn() async throws {
    let place = try Workplace()
    let text = """
      # mine

      mine json http://127.0.0.1:9/{}.json items=a[] url-field=u name-field=n base=http://127.0.0.1:9/f/
      zenodo json http://127.0.0.1:9/zenodo
      bad json
      worse json {} itmes=a[]
      """
    _ = try place.folder.write(Array(text.utf8), to: "home/config/dlm/presets.conf")
    _ = try place.folder.write(Array(#"{"a":[{"u":"x y","n":"z"}]}"#.utf8), to: "work/list.json")
    let run = try await place.dlm("get", "list.json", "--preset", "mine", "--dry-run", "--offline")
    #expect(run.outputText.hasPrefix("http://127.0.0.1:9/f/x%20y\t./z\t"), "\(run.outputText) \(run.errorText)")
    for line in ["bad json", "worse json {} itmes=a[]"] {
      #expect(
        run.errorText.contains("/presets.conf: \"\(line)\" is not a preset, and is ignored; write NAME FORMAT URL"))
    }
    let named = try await place.dlm("get", "mine:7", "--retries", "0")
    #expect(named.errorText.contains("mine: http://127.0.0.1:9/7.json cannot be read"), "\(named.errorText)")
    // The published ones stay what they are.
    #expect(
      try await place.dlm("get", "zenodo:1", "--retries", "0", "--proxy", "http://127.0.0.1:9").errorText
        .contains("zenodo: https://zenodo.org/"))
  }

  /// An option of the user's is stronger than the preset's.
  @Test func optionsAreStronger() throws {
    let options = try ListOptions.parse(["--preset", "gdc", "--name-field", "id", "--base", "http://h/x/"])
    let form = try ListForm(options)
    #expect(form.fields.names[.name] == "id" && form.fields.names[.url] == "id")
    let entries = try ListText(form: form, base: form.base).entries("id\tmd5\tsize\nu\t\(Self.md5)\t1\n")
    #expect(entries == ["2 http://h/x/u size=1 out=u md5=\(Self.md5)"])
    for text in [";;", "5", ""] {
      #expect(throws: (any Error).self) { try ListForm(try ListOptions.parse(["--split", text])) }
    }
  }

  /// Fetched by the list's own address, and proven; then again without a word.
  @Test func aRecordIsFetched() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = Array("a,b\n".utf8)
    let sum = ContentHasher.digest(.md5, of: body)
    origin.route("/files/1/content", .file(body))
    let link = origin.url("/files/1/content")
    let text = #"{"files":[{"key":"data.csv","size":4,"checksum":"\#(sum)","links":{"self":"\#(link)"}}]}"#
    origin.route("/api/records/1", .file(Array(text.utf8)))
    let place = try Workplace()
    let run = try await place.dlm("get", "--preset", "zenodo", "--list", origin.url("/api/records/1"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("data.csv") == body)
    let again = try await place.dlm("get")
    #expect(again.status == 0 && again.errorText.contains("up to date: 1 file"), "\(again.errorText)")
  }

  @Test func aFailureNamesPresetAndAddress() async throws {
    let place = try Workplace()
    let run = try await place.dlm("get", "zenodo:1", "--retries", "0", "--proxy", "http://127.0.0.1:9")
    #expect(run.status != 0 && run.errorText.contains("zenodo: https://zenodo.org/api/records/1 cannot be read"))
    _ = try place.folder.write(Array("http://127.0.0.1:9/x\n".utf8), to: "work/zenodo:1")
    #expect(try await place.dlm("get", "zenodo:1", "--dry-run").outputText.hasPrefix("http://127.0.0.1:9/x"))
  }

  /// The format that was found is said, and rows go with what they say of their files.
  @Test func aTableIsFetched() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for name in ["a", "b"] { origin.route("/\(name)", .file(Array(name.utf8))) }
    let place = try Workplace()
    let text = "name,url\n\"x, y.txt\",\(origin.url("/a"))\nz.txt,\(origin.url("/b"))\n"
    _ = try place.folder.write(Array(text.utf8), to: "work/t.csv")
    let run = try await place.dlm("get", "t.csv", "--name-field", "name")
    #expect(run.status == 0 && run.errorText.contains("dlm: t.csv: a table, URLs in url"), "\(run.errorText)")
    #expect(try place.file("x, y.txt") == Array("a".utf8) && place.file("z.txt") == Array("b".utf8))
  }
}
