import DownloadModel
import Testing

@Suite("Digests and authentication codes, by the vectors of their standards")
struct ContentHasherTests {
  private static let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)

  /// RFC 1321 §A.5 for MD5; RFC 6234 §8.5 (TEST1 and TEST3), which are NIST's, for the others.
  private static let vectors: [(algorithm: ContentDigest.Algorithm, text: [UInt8], hex: String)] = [
    // RFC 3720 §B.4, whose bytes are in the other order, and the check value of the CRC catalogue.
    (.crc32c, [UInt8](repeating: 0, count: 32), "8a9136aa"), (.crc32c, Array("123456789".utf8), "e3069283"),
    (.md5, Array("abc".utf8), "900150983cd24fb0d6963f7d28e17f72"),
    (.md5, Array(String(repeating: "1234567890", count: 8).utf8), "57edf4a22be3c955ac49da2e2107b67a"),
    (.sha1, Array("abc".utf8), "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (.sha1, million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    (.sha224, Array("abc".utf8), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
    (.sha224, million, "20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67"),
    (.sha256, Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (.sha256, million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    (
      .sha384, Array("abc".utf8),
      "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
    ),
    (
      .sha384, million,
      "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b07b8b3dc38ecc4ebae97ddd87f3d8985"
    ),
    (
      .sha512, Array("abc".utf8),
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
    ),
    (
      .sha512, million,
      "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
        + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
    ),
  ]

  @Test(arguments: vectors.indices)
  func standardVectors(index: Int) {
    let vector = Self.vectors[index]
    #expect(ContentHasher.digest(vector.algorithm, of: vector.text).hex == vector.hex)
    // In pieces that are no multiple of a block, with a look at the digest in between.
    var hasher = ContentHasher(vector.algorithm)
    for start in stride(from: 0, to: vector.text.count, by: 997) {
      _ = hasher.finish()
      hasher.update(Array(vector.text[start...].prefix(997)))
    }
    #expect(hasher.finish().hex == vector.hex)
  }

  @Test func everyAlgorithmHasAVector() {
    #expect(Set(Self.vectors.map(\.algorithm)) == Set(ContentDigest.Algorithm.allCases))
  }

  /// RFC 4231 §4.2-4.5, 4.7 and 4.8: keys shorter and longer than a block, and longer than text.
  private static let codes: [(key: [UInt8], text: [UInt8], hex: String)] = [
    (
      [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xaa, count: 20), [UInt8](repeating: 0xdd, count: 50),
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
    ),
    (
      Array(1...25), [UInt8](repeating: 0xcd, count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
    (
      [UInt8](repeating: 0xaa, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    (
      [UInt8](repeating: 0xaa, count: 131),
      Array(
        ("This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
    ),
  ]

  @Test(arguments: codes.indices)
  func authenticationCodes(index: Int) {
    let code = Self.codes[index]
    #expect(
      ContentDigest(.sha256, ContentHasher.authenticationCode(of: code.text, key: code.key))?.hex == code.hex)
  }
}
