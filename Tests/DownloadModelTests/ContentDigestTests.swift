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
    "sha256:\(String(repeating: "0g", count: 32))",
  ])
  func noChecksum(_ text: String) {
    #expect(ContentDigest(text) == nil)
  }

  @Test(arguments: ContentDigest.Algorithm.allCases)
  func theNumberOfDigitsNamesTheAlgorithm(_ algorithm: ContentDigest.Algorithm) {
    #expect(ContentDigest(hex: String(repeating: "00", count: algorithm.length))?.algorithm == algorithm)
  }

  @Test func proofsAreOrdered() {
    #expect([Proof.digest, .nothing, .length, .framing].sorted() == [.nothing, .framing, .length, .digest])
  }
}
