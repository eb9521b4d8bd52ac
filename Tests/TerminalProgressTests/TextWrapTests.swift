import Testing

@testable import TerminalProgress

@Suite("Messages are broken between words, and what is copied stays whole")
struct TextWrapTests {
  @Test(arguments: [
    ("short", 10, ["short"]),
    ("3 files, 4.0 KiB in 1.2 s", 14, ["3 files, 4.0", "    KiB in 1.2", "    s"]),
    ("  1 fetched, 2 fresh", 12, ["  1 fetched,", "    2 fresh"]),
    ("    http://example.org/a/long/address", 12, ["    http://example.org/a/long/address"]),
    ("a-word-that-is-longer than", 8, ["a-word-that-is-longer", "    than"]),
    ("    … | dlm get - --directory out", 20, ["    … | dlm get - --directory out"]),
    ("dlm: \"ftp\": dlm gets http", 16, ["dlm: \"ftp\": dlm", "    gets http"]),
    ("日本語 の 名前", 8, ["日本語", "    の", "    名前"]), ("any text at all", 0, ["any text at all"]),
  ])
  func lines(text: String, columns: Int, expected: [String]) {
    #expect(TextWrap.lines(text, columns: columns) == expected)
  }

  @Test(
    "in a column, also within a word that is longer",
    arguments: [
      ("short", 10, ["short"]), ("one  two", 8, ["one  two"]), ("one  two three", 8, ["one two", "three"]),
      ("see https://host/path now", 10, ["see", "https://ho", "st/path", "now"]), ("日本語", 4, ["日本", "語"]),
      ("日本", 1, ["日本"]), ("", 5, [""]),
    ])
  func filled(text: String, cells: Int, expected: [String]) {
    #expect(TextWrap.filled(text, cells: cells) == expected)
  }
}
