import Testing

@testable import DownloadModel

@Suite("Mirrors that an answer names (RFC 6249)")
struct NamedMirrorsTests {
  private static let digest = "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

  private func named(_ lines: [String], at url: String, target: String? = nil) throws -> [String]? {
    var block: [UInt8] = []
    var starts: [Int] = []
    for line in lines {
      starts.append(block.count)
      block += Array("\(line)\r\n".utf8)
    }
    let head = ResponseHead(status: 200, block: block, starts: starts)
    return NamedMirrors(head, asked: [try Address(url)], target: try target.map { try Address($0) })?.mirrors.map(\.key)
  }

  static let links: [(links: String, mirrors: [String]?)] = [
    ("<http://a/f>; rel=duplicate", ["http://a/f"]), ("<http://a/f>;pri=2; REL=\"x Duplicate\"", ["http://a/f"]),
    (
      "<http://c/>; rel=duplicate, <http://b/>; rel=duplicate; pri=2, <http://a/>; pri=1; rel=duplicate; geo=de",
      ["http://a/", "http://b/", "http://c/"]
    ),
    ("<ftp://a/f>; rel=duplicate, <f>; rel=duplicate, <file:///etc/passwd>; rel=duplicate", []),
    // The URL itself, and where the answer leads.
    ("<http://h/f>; rel=duplicate, <http://t/f>; rel=duplicate, <https://a/f>; rel=duplicate", ["https://a/f"]),
    ("<http://a/f>; rel=duplicate; anchor=\"http://other/\"", nil), ("<http://a/f.meta4>; rel=describedby", nil),
    ("<http://a/\(String(repeating: "x", count: 3000))>; rel=duplicate", []), ("", nil),
  ]

  @Test(arguments: links.indices)
  func whichCount(_ index: Int) throws {
    let (links, mirrors) = Self.links[index]
    let found = try named(["Link: \(links)", "Digest: \(Self.digest)"], at: "http://h/f", target: "http://t/f")
    #expect(found == mirrors)
  }

  @Test(arguments: [nil, "Digest: MD5=1B2M2Y8AsgTpgAmY7PhCfg==", "Digest: SHA-256=abc", "Digest: adler32=03da0195"])
  func noneWithoutADigestThatProves(_ digest: String?) throws {
    #expect(try named(["Link: <http://a/f>; rel=duplicate"] + [digest].compactMap(\.self), at: "http://h/f") == nil)
  }

  @Test func aRedirectsLimits() throws {
    let many =
      (0..<40).map { "Link: <http\($0 == 7 ? "s" : "")://m\($0)/f>; rel=duplicate" } + ["Digest: \(Self.digest)"]
    #expect(try named(many, at: "http://h/f")?.count == 16)
    #expect(try named(many, at: "https://h/f") == ["https://m7/f"])
  }
}

@Suite("Digests that an answer gives")
struct ReprDigestTests {
  // SHA-256 of nothing, in Base64 and hexadecimal.
  private static let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
  private static let hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  /// RFC 9530 §3.
  @Test(arguments: [
    "sha-256=:\(empty):", "SHA-256=:\(empty):", " sha-256=:\(empty):;x=1 , md5=:AAAA:",
    "unixsum=30637, sha-256=:\(empty):", "sha-512=:AAAA:, sha-256=:\(empty):",
  ])
  func understood(_ field: String) {
    #expect(ReprDigest.strongest(field) == ContentDigest(.sha256, hex: Self.hex))
  }

  @Test(arguments: ["", "sha-256", "sha-256=\(empty)", "sha-256=:\(empty)", "sha-256=:!!:", "md5=:AAAA:"])
  func leftOut(_ field: String) { #expect(ReprDigest.strongest(field) == nil) }

  @Test func theStrongestCounts() {
    let long = String(repeating: "A", count: 86) + "=="
    #expect(ReprDigest.strongest("sha-256=:\(Self.empty):, sha-512=:\(long):")?.algorithm == .sha512)
  }

  /// RFC 3230 §4.3.2, with the algorithms that dlm knows.
  @Test(arguments: [
    ("SHA-256=\(empty)", "sha256"), ("md5=1B2M2Y8AsgTpgAmY7PhCfg==, sha-256=\(empty)", "sha256"),
    ("MD5=1B2M2Y8AsgTpgAmY7PhCfg==", "md5"), ("SHA=2jmj7l5rSw0yVb/vlWAYkK/YBwk=,UNIXsum=1", "sha1"),
    ("MD5=d41d8cd98f00b204e9800998ecf8427e", nil), ("SHA-256=:\(empty):", nil), ("adler32=03da0195", nil), ("=", nil),
  ])
  func legacy(_ field: String, _ algorithm: String?) {
    #expect(ReprDigest.strongest(field, isLegacy: true)?.algorithm.rawValue == algorithm)
  }
}
