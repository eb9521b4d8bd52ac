import DownloadModel
import Testing

@Suite("Checksums as people write them")
struct ContentDigestTests {
  private static let sha256 = String(repeating: "aB", count: 32)

  @Test func textAndBack() throws {
    let digest = try #require(ContentDigest("SHA-256:\(Self.sha256)"))
    #expect(digest.algorithm == .sha256)
    #expect(digest.bytes == Array(repeating: 0xAB, count: 32))
    #expect(digest.description == "sha256:\(Self.sha256.lowercased())")
    #expect(ContentDigest(digest.description) == digest)
  }

  @Test(arguments: [
    "", "sha256", "sha256:", "sha256:ab", "crc32:12345678", "sha256:\(sha256)0", "sha512:\(sha256)",
    "sha256:\(String(repeating: "0g", count: 32))", "sha256-", "sha256:!", "crc32c:00", "12345678", "multihash:",
    "multihash:1220ab", "multihash:zz", ":", "-", "sha-", "md5-",
  ])
  func noChecksum(_ text: String) {
    #expect(ContentDigest(text) == nil)
  }

  /// Of the nine bytes "123456789", by the tools of their publishers.
  private static let nine = "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"
  private static let nine64 = "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="

  @Test(arguments: [
    "sha256:\(nine)", "SHA-256=\(nine)", "sha256:\(nine64)", "sha256-\(nine64)", "sha256-\(nine64)?ct=a/b",
    "multihash:1220\(nine)", "md5-JfnnlDI7RTiF9RgfG2JNCw== sha256-\(nine64)",
    "sha256-\(nine64)  sha999-AAAA sha1-98O+BYCkgfSJr6vGxhFzLhP+ETE=", "\(nine)",
  ])
  func asPublishersGiveIt(_ text: String) {
    #expect(ContentDigest(text)?.description == "sha256:\(Self.nine)")
    #expect(ContentDigest(text) == ContentHasher.digest(of: Array("123456789".utf8)))
  }

  /// The check value that the catalogues of CRCs give.
  @Test(arguments: ["crc32c:e3069283", "CRC32C=E3069283", "crc32c:4waSgw==", "crc32c=4waSgw=="])
  func theChecksumOfObjectStores(_ text: String) throws {
    let digest = try #require(ContentDigest(text))
    #expect(digest == ContentHasher.digest(.crc32c, of: Array("123456789".utf8)))
    #expect(ContentDigest(digest.description) == digest)
    var hasher = ContentHasher(.crc32c)
    for byte in "123456789".utf8 { hasher.update([byte]) }
    #expect(hasher.finish() == digest)
  }

  @Test(arguments: ["md5", "sha1", "sha256", "sha384", "sha512"])
  func multihashes(_ name: String) throws {
    let algorithm = try #require(ContentDigest.Algorithm(rawValue: name))
    let digest = ContentHasher.digest(algorithm, of: [1])
    let prefix = ["md5": "d50110", "sha1": "1114", "sha256": "1220", "sha384": "2030", "sha512": "1340"][name] ?? ""
    #expect(ContentDigest("multihash:\(prefix)\(digest.hex)") == digest)
    #expect(ContentDigest("multihash:\(prefix)\(digest.hex)00") == nil)
    #expect(ContentDigest("\(prefix)\(digest.hex)") == digest, "as STAC has it")
  }

  @Test(arguments: ContentDigest.Algorithm.allCases.filter { $0 != .crc32c })
  func theNumberOfDigitsNamesTheAlgorithm(_ algorithm: ContentDigest.Algorithm) {
    #expect(ContentDigest(hex: String(repeating: "00", count: algorithm.length))?.algorithm == algorithm)
  }

  @Test func proofsAreOrdered() {
    #expect([Proof.digest, .nothing, .length, .framing].sorted() == [.nothing, .framing, .length, .digest])
  }
}
