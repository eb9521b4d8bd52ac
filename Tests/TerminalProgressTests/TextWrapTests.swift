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
    (
      "To try these again: dlm get urls.txt -d out   (what is here is not fetched again)", 40,
      ["To try these again:", "    dlm get urls.txt -d out", "    (what is here is not fetched again)"]
    ),
    (
      "Interrupted: 0 of 40 done; to go on: … | dlm get -   (give it all)", 30,
      ["Interrupted: 0 of 40 done; to", "    go on:", "    … | dlm get -", "    (give it all)"]
    ), ("日本語 の 名前", 8, ["日本語", "    の", "    名前"]), ("any text at all", 0, ["any text at all"]),
  ])
  func lines(text: String, columns: Int, expected: [String]) {
    #expect(TextWrap.lines(text, columns: columns) == expected)
  }
}
