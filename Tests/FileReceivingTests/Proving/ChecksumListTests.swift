import DownloadModel
import Testing

@testable import FileReceiving

@Suite("Checksum lists of coreutils and of BSD (HTTP rule 23)")
struct ChecksumListTests {
  private static let one = String(repeating: "11", count: 32)
  private static let two = String(repeating: "22", count: 32)
  private static let long = String(repeating: "33", count: 64)

  private static func digest(_ hex: String) -> ContentDigest? { ContentDigest(hex: hex) }

  @Test(arguments: [
    ("\(one)  x.iso", "x.iso"),
    ("\(one) *x.iso", "x.iso"),
    ("\(one) x.iso", "x.iso"),
    ("\(one)  x.iso\r", "x.iso"),
    ("\(one.uppercased())  ./pool/main/x.iso", "./pool/main/x.iso"),
    ("\(one)   two blanks", " two blanks"),
    ("\\\(one)  a\\nb\\\\c", "a\nb\\c"),
    ("SHA256 (x.iso) = \(one)", "x.iso"),
    ("SHA256 (a) = b (c) = \(one)", "a) = b (c"),
    ("\\SHA256 (a\\nb) = \(one)", "a\nb"),
    // Marks that make one Character with what separates: names are bytes.
    ("\(one)  pool/\u{301}x", "pool/\u{301}x"),
    ("\(one)  \u{301}x", "\u{301}x"),
  ])
  func aLine(_ line: String, _ name: String) throws {
    #expect(ChecksumLine(line) == .entry(path: name, try #require(Self.digest(Self.one))))
  }

  /// Two normal forms are two names; where the list has one of them alone, it is meant by the other, too.
  @Test func normalForms() {
    let both = ChecksumList(Array("\(Self.one)  \u{E9}\n\(Self.two)  e\u{301}\n".utf8))
    #expect(both.count == 2 && both.ambiguousNames.isEmpty)
    #expect(both.digest(of: "\u{E9}") == Self.digest(Self.one) && both.digest(of: "e\u{301}") == Self.digest(Self.two))
    let decomposed = ChecksumList(Array("\(Self.one)  e\u{301}\n\(Self.two)  a\n".utf8))
    #expect(decomposed.digest(of: "\u{E9}") == Self.digest(Self.one) && decomposed.unusedNames == ["a"])
  }

  @Test(arguments: ["", "   ", "# a comment", "\r"])
  func nothing(_ line: String) { #expect(ChecksumLine(line) == .blank) }

  @Test(arguments: [
    "hello", one, "\(one)  ", "\(one.dropLast())  x", "SHA256 (x) = 12",
    "SHA512 (x) = \(one)",
    "-----BEGIN PGP SIGNED MESSAGE-----",
  ])
  func malformed(_ line: String) { #expect(ChecksumLine(line) == .malformed) }

  @Test func anUnknownAlgorithm() {
    #expect(ChecksumLine("BLAKE2b-256 (x) = \(Self.one)") == .unknown("BLAKE2b-256"))
    let list = ChecksumList(Array("SM3 (x) = \(Self.one)\n".utf8))
    #expect(list.unknownAlgorithm == "SM3" && list.count == 0 && list.malformedLines == [1])
  }

  @Test func aList() throws {
    let text = """
      # made by hand
      \(Self.one)  a
      \(Self.two)  folder/b
      nonsense
      \(Self.long)  a
      \(Self.one)  twice
      \(Self.two)  elsewhere/twice
      """
    let list = ChecksumList(Array(text.utf8))
    #expect(list.malformedLines == [4])
    #expect(list.ambiguousNames == ["twice"])
    #expect(list.digest(of: "a") == Self.digest(Self.long), "the stronger of two algorithms")
    #expect(list.digest(of: "twice") == nil)
    #expect(list.digest(of: "c") == nil)
    #expect(list.unusedNames == ["b"])
  }
}
