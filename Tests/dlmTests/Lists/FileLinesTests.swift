import ArgumentParser
import DownloadModel
import Foundation
import Glibc
import TestSupport
import Testing

@testable import dlm

@Suite("Lists with a file in each line")
struct FileLinesTests {
  private static let sum = String(repeating: "ab", count: 32)
  private static func form(_ format: ListFormat) -> ListForm {
    var form = ListForm()
    form.format = format
    return form
  }

  private static let cases: [(format: ListFormat, text: String, expected: [String])] = [
    // As apt 2.6 prints it.
    (
      .apt,
      """
      'http://deb.debian.org/debian/pool/main/h/hello/hello_2.10-3_amd64.deb' hello_2.10-3_amd64.deb 53080 \
      SHA256:2e6e2f1a0007dc43bc91c273fd36e91e40a4f1c2765a03eca68b70a42103878a
      'http://h/x_1%3a2.deb' x_1%3a2.deb 7 MD5Sum:d04c2e9639dee67aa836d8232b1ca658
      'http://h/dists/InRelease' h_dists_InRelease 0 

      Reading package lists...
      The following NEW packages will be installed:
        hello it's
      After this operation, 284 kB of additional disk space will be used.
      'http://h/y' ../y 7 SHA256:\(sum)
      'http://h/z' z 7 SHA3:\(sum)
      'gopher://h/z' z 7

      """,
      [
        "http://deb.debian.org/debian/pool/main/h/hello/hello_2.10-3_amd64.deb\tsize=53080\tout=hello_2.10-3_amd64.deb"
          + "\tsha256=2e6e2f1a0007dc43bc91c273fd36e91e40a4f1c2765a03eca68b70a42103878a",
        "http://h/x_1%3a2.deb\tsize=7\tout=x_1%253a2.deb\tmd5=d04c2e9639dee67aa836d8232b1ca658",
        "http://h/dists/InRelease\tout=h_dists_InRelease",
        "9: field(\"out=../y\") http://h/y",
        "10: foreign(to: \"apt-get --print-uris\") 'http://h/z' z 7 SHA3:\(sum)",
        "11: \(Rejection.Reason.malformed(.unsupportedScheme("gopher"))) gopher://h/z",
      ]
    ),
    (
      .bagit, "http://h/a 12 data/a b%0Ac%25.txt\nhttp://h/b\t-  data/b\r\n\nhttp://h/c x data/c\nhttp://h/d 1 /d\n",
      [
        "http://h/a\tsize=12\tdir=data\tout=a b%0Ac%25.txt", "http://h/b\tdir=data\tout=b",
        "4: foreign(to: \"a bag\\'s fetch.txt without a manifest beside it\") http://h/c%20x%20data/c",
        "5: field(\"out=/d\") http://h/d",
      ]
    ),
    // As the manifests of the Imaging Data Commons and the examples of s5cmd have it.
    (
      .s5cmd,
      """
      cp s3://bucket/a/b.dcm target/c.dcm
      # comment

      cp --source-region us-east-1 "s3://bucket/a b/ü.bin" .
      cp -n 's3://my.bucket/x' './d/'
      cp s3://bucket/pre/* .
      cp s3://bucket .
      cp s3://bucket/a /abs
      rm s3://bucket/a
      cp local s3://bucket/a
      cp s3://b/a s3://c/a

      """,
      [
        "https://bucket.s3.amazonaws.com/a/b.dcm\tdir=target\tout=c.dcm",
        "https://bucket.s3.amazonaws.com/a%20b/%C3%BC.bin\tout=ü.bin",
        "https://s3.amazonaws.com/my.bucket/x\tdir=d\tout=x",
        "6: row(\"dlm lists no buckets: name each object\") s3://bucket/pre/*",
        "7: row(\"dlm lists no buckets: name each object\") s3://bucket",
        "8: field(\"out=/abs\") https://bucket.s3.amazonaws.com/a",
      ]
    ),
    // As the scripts of the search service have it, and older ones of one file.
    (
      .esgf,
      """
      #!/bin/bash
      # ESG Federation download script
      search_url='http://h/esg-search/wget/?distrib=false'
      download_files="$(cat <<EOF--dataset.file.url.chksum_type.chksum
      'tas_day.nc' 'http://h/v1/tas_day.nc' 'SHA256' '\(sum)'
      'pr.nc' 'http://h/pr.nc' 'MD5' 'd04c2e9639dee67aa836d8232b1ca658'
      'no sum.nc' 'https://h/no.nc' '' ''
      'bad.nc' 'http://h/bad.nc' 'SHA3' '\(sum)'
      '../up.nc' 'http://h/up.nc' 'SHA256' '\(sum)'
      EOF--dataset.file.url.chksum_type.chksum
      )"
      eval $(awk -F "' '" '{$0=substr($0,2,length($0)-2); $3=tolower($3)}' <(echo $line) )

      """,
      [
        "http://h/v1/tas_day.nc\tout=tas_day.nc\tsha256=\(sum)",
        "http://h/pr.nc\tout=pr.nc\tmd5=d04c2e9639dee67aa836d8232b1ca658", "https://h/no.nc\tout=no sum.nc",
        "8: foreign(to: \"a wget script of ESGF\") 'bad.nc' 'http://h/bad.nc' 'SHA3' '\(sum)'",
        "9: field(\"out=../up.nc\") http://h/up.nc",
      ]
    ),
  ]

  @Test(arguments: cases.indices) func table(index: Int) throws {
    let (format, text, expected) = Self.cases[index]
    let found = try FormatReading.entries(of: Array(text.utf8), Self.form(format))
    #expect(found == expected)
    try FormatReading.expectAlike(text, Self.form(format))
  }

  @Test(arguments: cases.indices) func damage(index: Int) {
    FormatReading.fuzz(Self.cases[index].text, Self.form(Self.cases[index].format), rounds: 300)
  }

  @Test(arguments: [
    ("#!/bin/bash\n# ESG Federation download script\n", "list", .esgf),
    ("'a.nc' 'http://h/a.nc' 'MD5' ''\n", "list", .esgf),
    ("cp s3://b/k k\n", "list", .s5cmd), ("# c\n\(sum)  a\n", "list", ListFormat.checksums),
    ("SHA256 (a) = \(sum)\r\n", "list", .checksums),
    ("'http://h/a' a 1\n", "list", .apt), ("Reading package lists...\n", "list", .apt),
    ("Paketlisten werden gelesen…\n'http://h/a' a 1\n", "list", .apt), ("'http://h/a'\n", "list", nil),
    ("BLAKE2b (a) = \(sum)\n", "list", .checksums), ("\(sum.prefix(56))  a\n", "list", .checksums),
    ("http://h/a 1 data/a\n", "d/fetch.txt", .bagit),
    // What may be a plain list is one.
    ("http://h/a 1 data/a\n", "list", nil), ("http://h/a\n", "fetch.txt", nil), ("", "fetch.txt", nil),
    ("http://h/a\n", "SHA256SUMS", nil), ("\(sum)\n", "list", nil), ("a/b c\n", "list", nil),
  ])
  func whatIsFoundOut(_ text: String, _ name: String, _ format: ListFormat?) {
    #expect(FileLines.format(of: text, named: name) == format)
  }

  // MARK: Bags

  /// `bagit.make_bag('bag', checksums=['sha256'])` of bagit-python 1.9.0 made it of the three files here.
  private static let manifest = """
    2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  data/a b.txt
    f6936912184481f5edd4c304ce27c5a1a827804fc7f329f43d273b8621870776  data/n%0Al.txt
    27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a  data/sub/b.txt

    """
  private static let bagged = ["data/a b.txt": "one\n", "data/sub/b.txt": "two\n", "data/n\nl.txt": "three\n"]

  @Test(arguments: [true, false]) func aBag(isRight: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var fetch = ""
    for (index, (path, text)) in Self.bagged.sorted(by: { $0.key < $1.key }).enumerated() {
      origin.route("/\(index)", .file(Array((isRight ? text : text.uppercased()).utf8)))
      fetch += "\(origin.url("/\(index)")) \(text.utf8.count) \(path.replacing("\n", with: "%0A"))\n"
    }
    _ = try place.folder.write(Array(fetch.utf8), to: "work/bag/fetch.txt")
    _ = try place.folder.write(Array(Self.manifest.utf8), to: "work/bag/manifest-sha256.txt")
    let run = try await place.dlm("get", "bag/fetch.txt", "-d", "bag")
    #expect(run.errorText.contains("bag/fetch.txt: a bag's fetch.txt\n"), "\(run.errorText)")
    #expect(run.status == (isRight ? 0 : 1), "\(run.errorText)")
    if isRight {
      #expect(run.errorText.contains("3 verified by checksum"), "\(run.errorText)")
      // No list chooses a name with control characters.
      for (path, text) in Self.bagged {
        #expect(try place.file("bag/\(path.replacing("\n", with: ""))") == Array(text.utf8))
      }
    } else {
      #expect(run.errorText.contains("checksum mismatch"), "\(run.errorText)")
      #expect(try place.names(in: "bag/data/sub") == ["b.txt.rejected"])
    }
  }

  /// A pipe in a manifest's place was waited for, and SIGTERM had no effect.
  @Test func aManifestIsAFile() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    origin.route("/a", .file([1]))
    _ = try place.folder.write(Array("\(origin.url("/a")) 1 a\n".utf8), to: "work/fetch.txt")
    #expect(mkfifo("\(place.work)/manifest-sha512.txt", 0o600) == 0)
    let run = try await place.dlm("get", "fetch.txt")
    #expect(run.status == 0 && run.errorText.contains("without a manifest beside it"), "\(run.errorText)")
  }

  /// Its manifest is fetched as the list was; without one it goes on unchecked, as on the disk.
  @Test(
    arguments: [
      (["sha256"], "wrong", Int32(1), "checksum mismatch"), (["sha256"], nil, 0, "3 verified by checksum"),
      // The strongest counts, and one that cannot be had now is no missing one.
      (["sha512", "sha256"], nil, 1, "checksum mismatch"), ([], "wrong", 0, "fetch.txt without a manifest beside it"),
      (["busy"], nil, 75, "manifest-sha512.txt: 503"),
    ] as [([String], String?, Int32, String)])
  func aBagAtAnAddress(manifests: [String], text: String?, status: Int32, said: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    var fetch = ""
    for (index, (path, right)) in Self.bagged.sorted(by: { $0.key < $1.key }).enumerated() {
      origin.route("/\(index)", .file(Array((text ?? right).utf8)))
      fetch += "/\(index) - \(path.replacing("\n", with: "%0A"))\n"
    }
    let isLogged: @Sendable (OriginAnswer) -> OriginAnswer = { .behindBasic($0) }
    origin.route("/bag/fetch.txt", isLogged(.file(Array(fetch.utf8))))
    for algorithm in ["sha512", "sha256", "sha1", "md5"] {
      let isThere = manifests.contains(algorithm)
      let other = Self.manifest.replacing(/(?m)^\w+/) { _ in String(repeating: "0", count: 128) }
      let answer: OriginAnswer =
        manifests == ["busy"]
        ? .status(503)
        : isThere ? .file(Array((algorithm == "sha512" ? other : Self.manifest).utf8)) : .status(404)
      origin.route("/bag/manifest-\(algorithm).txt", isLogged(answer))
    }
    let list = origin.url("/bag/fetch.txt").replacing("http://", with: "http://u:p@")
    let run = try await place.dlm("get", "--list", list, "--retries", "0")
    let text = run.errorText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(run.status == status && text.contains(said), "\(text)")
    #expect(!run.errorText.contains("u:p"))
    // A list at an address gives no name with a control character.
    if status == 0 { #expect(try place.names(in: "data") == ["a b.txt", "nl.txt", "sub"], "\(text)") }
  }

  // MARK: --url-template

  @Test func aTemplate() throws {
    var options = try ListOptions.parse(["--url-template", "https://h/{}.pdf?id={}"])
    let form = try ListForm(options)
    let text = "\u{FEFF}  a b/c \n# c\n\n10.5\tout=n.pdf\nhttp://x/y\nä\r\n"
    let expected = ["a%20b/c", "10.5", "http%3A//x/y", "%C3%A4"].map { "https://h/\($0).pdf?id=\($0)" }
    let found = try FormatReading.entries(of: Array(text.utf8), form).filter { !$0.hasSuffix("blank") }
    #expect(found == [expected[0], expected[1] + "\tout=n.pdf", expected[2], expected[3]])
    try FormatReading.expectAlike(text, form)
    #expect(try FormatReading.entries(of: [0x61, 0xFF], form) == ["1: notUTF8 a\u{FFFD}"])
    for (template, format) in [
      ("https://h/", nil), ("h/{}", nil), ("https://h/{}", ListFormat.aria2), ("https://u:CANARY@h/{}", nil),
    ] as [(String, ListFormat?)] {
      (options.template, options.format) = (template, format)
      #expect { try ListForm(options) } throws: { "\($0)".contains("--url-template") && !"\($0)".contains("CANARY") }
    }
  }
}
