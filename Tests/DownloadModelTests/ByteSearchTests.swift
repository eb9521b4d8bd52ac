import DownloadModel
import Testing

@Suite struct ByteSearchTests {
  @Test(
    arguments: [
      ("", "x", nil), ("x", "", nil), ("x", "x", 0..<1), ("https://h/", "://", 5..<8), ("a:/://b", "://", 3..<6),
      ("aab", "ab", 1..<3), ("ab", "abc", nil), ("\u{e9}: b", ": ", 2..<4), ("e\u{301}", "e", 0..<1),
    ] as [(String, String, Range<Int>?)])
  func findsTheFirstPlace(text: String, part: String, expected: Range<Int>?) {
    #expect(Array(text.utf8).place(of: part) == expected)
  }

  /// Places in a slice are those of the whole, and bytes need not be a text.
  @Test func findsPlacesInASlice() {
    let bytes: [UInt8] = [0xff, 0x3a, 0xff, 0x3a, 0xc3]
    #expect(bytes[2...].place(of: ":") == 3..<4)
    #expect(bytes[4...].place(of: ":") == nil)
  }
}
