import DownloadModel
import Foundation
import TestSupport
import Testing

@testable import dlm

@Suite("A list of checksums as the list of files")
struct ChecksumLinesTests {
  private static let sum = String(repeating: "ab", count: 32)
  private static func form(_ base: String? = "http://h/pub/") throws -> ListForm {
    var form = ListForm()
    form.format = .checksums
    form.base = try base.map { try Address($0) }
    return form
  }

  private static let cases: [(text: String, expected: [String])] = [
    ("# c\n\n", []),
    ("\(sum)  a\n\(sum) *d/b c.iso\n", ["/a\tout=a", "/d/b%20c.iso\tdir=d\tout=b c.iso"]),
    ("SHA256 (./d/e/x) = \(sum)\r\n", ["/d/e/x\tdir=d/e\tout=x"]),
    // A name is a name, whatever an address would make of it.
    ("\(sum)  a?b#c%20:ü\n", ["/a%3Fb%23c%2520%3A%C3%BC\tout=a?b#c%2520:ü"]),
    ("\\\(sum)  a\\nb\n", ["/a%0Ab\tout=a%0Ab"]),
    ("\(sum)  http://x/y\n", ["1: field(\"out=http://x/y\")"]),
    ("\(sum)  ../x\n\(sum)  /etc/x\n", ["1: field(\"out=../x\")", "2: field(\"out=/etc/x\")"]),
    ("nonsense\n\(sum)  a\n", ["1: foreign(to: \"a list of checksums\") nonsense", "/a\tout=a"]),
  ]

  @Test(arguments: cases.indices) func table(index: Int) throws {
    let (text, expected) = Self.cases[index]
    let found = try FormatReading.entries(of: Array(text.utf8), Self.form()).map { entry in
      entry.replacing("http://h/pub/", with: "/").replacing("\tsha256=\(Self.sum)", with: "")
    }
    #expect(zip(found, expected).allSatisfy { $0.hasPrefix($1) } && found.count == expected.count, "\(found)")
    try FormatReading.expectAlike(text, Self.form())
  }

  @Test func damage() throws {
    FormatReading.fuzz(Self.cases.map(\.text).joined(), try Self.form())
  }

  @Test func whatItCannotDoWithout() throws {
    #expect(throws: Rejection.NoList.noBase) {
      try FormatReading.entries(of: Array("\(Self.sum)  a\n".utf8), Self.form(nil))
    }
    #expect(throws: Rejection.NoList.checksums("BLAKE2b")) {
      try FormatReading.entries(of: Array("BLAKE2b (a) = \(Self.sum)\(Self.sum)\n".utf8), Self.form())
    }
    #expect(throws: Rejection.NoList.checksums("BLAKE2")) {
      try FormatReading.entries(of: Array("\(Self.sum)\(Self.sum)  a\n".utf8), Self.form(), named: "d/B2SUMS")
    }
  }

  /// As the tools themselves write them.
  @Test(arguments: [
    "sha256sum", "sha256sum --tag", "sha512sum -b", "md5sum", "sha224sum", "sha224sum --tag",
    "sha1sum -z | tr '\\0' '\\n'",
  ])
  func listsOfTheTools(_ tool: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    let names = ["a", "d/f", "e/f", "d/b c%.bin"]
    for (index, name) in names.enumerated() {
      let body = SplitMix64.bytes(count: 1000 + index, seed: UInt64(index))
      _ = try place.folder.write(body, to: "work/there/\(name)")
      origin.route("/pub/" + PercentEncoding.encode(name, keeping: "/"), .file(body))
    }
    let words = names.map { "'\($0)'" }.joined(separator: " ")
    let parts = tool.split(separator: "|", maxSplits: 1).map(String.init)
    let command = "cd there && \(parts[0]) \(words)\(parts.count > 1 ? "|" + parts[1] : "") >../SUMS"
    #expect(try await place.start("/bin/sh", ["-c", command]).waitForExit().status == 0)
    let bare = try await place.dlm("get", "SUMS", "-d", "here")
    #expect(bare.status == 66 && bare.errorText.contains("--base"), "\(bare.errorText)")
    let run = try await place.dlm("get", "SUMS", "--base", origin.url("/pub/"), "-d", "here")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("SUMS: a list of checksums\n"), "\(run.errorText)")
    #expect(run.errorText.contains("4 verified by checksum"), "\(run.errorText)")
    for name in names { #expect(try place.file("here/\(name)") == place.file("there/\(name)"), "\(name)") }
  }

  /// Its files are below its own address, and what is wrong is not taken.
  @Test func aListAtAnAddress() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/pub/d/a", .file([1]))
    let sums = "\(try await ProofTests.sum([1]))  d/a\n\(Self.sum)  d/b\n"
    origin.route("/pub/d/b", .file([2]))
    origin.route("/pub/SHA256SUMS", .file(Array(sums.utf8)))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/pub/SHA256SUMS"), "--list", "-d", "here")
    #expect(run.status == 1 && run.errorText.contains("checksum mismatch"), "\(run.errorText)")
    #expect(try place.names(in: "here/d") == ["a", "b.rejected"])
  }

  /// Refused by name: as lists, told by their first line or their name, and as --checksums.
  @Test(arguments: [
    ("b2sum --tag", "SUMS", "BLAKE2b"), ("b2sum", "B2SUMS", "BLAKE2"), ("b2sum -l 256", "x.b2", "BLAKE2"),
  ])
  func ofBLAKE2(_ tool: String, _ name: String, _ algorithm: String) async throws {
    let place = try Workplace()
    let command = "echo x >x; \(tool) x x x x x x x x x >\(name)"
    #expect(try await place.start("/bin/sh", ["-c", command]).waitForExit().status == 0)
    for words in [[name, "--base", "http://127.0.0.1:9/"], ["http://127.0.0.1:9/x", "--checksums", name]] {
      let run = try await place.start(["get", "-q"] + words).waitForExit()
      #expect(run.status == 66 && run.errorText.contains("\(name) has \(algorithm) checksums"), "\(run.errorText)")
      #expect(run.errorText.split(separator: "\n").count == 1, "\(run.errorText)")
    }
  }
}
