import Foundation
import Testing

@testable import TestSupport

@Suite("Test data and folders")
struct TestDataTests {
  @Test func `Bytes are the generator's published sequence`() {
    var generator = SplitMix64(seed: 1_234_567)
    #expect(generator.next() == 6_457_827_717_110_365_317)
    #expect(generator.next() == 3_203_168_211_198_807_973)
    #expect(generator.next() == 9_817_491_932_198_370_423)
  }

  @Test(arguments: [0, 1, 7, 8, 9, 1000])
  func `A shorter file is a prefix of a longer one`(_ count: Int) {
    #expect(
      SplitMix64.bytes(count: count, seed: 1) == Array(SplitMix64.bytes(count: 2000, seed: 1).prefix(count)))
  }

  @Test func `A folder goes with its object`() throws {
    var path = ""
    do {
      let folder = try TemporaryFolder()
      path = folder.path
      try folder.write([1, 2], to: "a/b")
      #expect(try folder.read("a/b") == [1, 2])
      #expect(try folder.names() == ["a"])
      #expect(try folder.names(in: "a") == ["b"])
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(
    arguments: [
      ([1, 2, 3], [1, 2, 3], nil), ([1, 2], [1, 2, 3], "it ends after 2 bytes"),
      ([1, 2, 3], [1, 2], "there is more than the 2 bytes expected"),
      ([1, 9], [1, 2], "byte 1 is 9, not 2"),
    ] as [([UInt8], [UInt8], String?)])
  func `A difference is told by its place`(_ bytes: [UInt8], _ expected: [UInt8], _ words: String?) {
    #expect(bytes.firstDifference(from: expected) == words)
  }
}
