import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("Width in cells")
struct CellWidthTests {
  @Test(arguments: [
    ("", 0), ("file.bin", 8), ("Größe", 5), ("日本", 4), ("ｶﾅ", 2), ("Ａ", 2), ("한국", 4),
    ("e\u{301}", 1),  // combining acute
    ("\u{1112}\u{1161}\u{11AB}", 2),  // 한 in three jamo
    ("\u{301}", 0), ("a\u{200B}b", 2),  // zero width space
    ("\u{600}", 1),  // Arabic number sign
    ("a\u{AD}b", 3),  // soft hyphen
    ("😀", 2), ("👍🏽", 2), ("👩‍👩‍👧", 2), ("❤", 1), ("❤️", 2), ("1️⃣", 2), ("⌚", 2),
    ("🇩🇪", 2), ("🇩🇪🇫🇷", 4), ("🏴‍☠️", 2),
    ("กำ", 2), ("नि", 2),
    ("\u{FFFD}", 1), ("\u{E000}", 1), ("𠀀", 2), ("　", 2), ("…", 1), ("≥", 1), ("✓✗↻", 3), ("▕█▌▏", 4),
    ("━╾─", 3),
  ])
  func counts(text: String, width: Int) {
    #expect(CellWidth.of(text) == width)
  }
}

@Suite("Text from outside")
struct TerminalTextTests {
  @Test(
    "control, escape and bidi characters go",
    arguments: [
      ("plain name.txt", "plain name.txt"), ("Größe 日本.txt", "Größe 日本.txt"),
      ("a\u{1B}[31mred\u{1B}[0m", "a[31mred[0m"), ("a\u{1B}]0;title\u{7}b", "a]0;titleb"),
      ("a\u{9B}31mb", "a31mb"), ("a\u{90}b\u{9C}", "ab"), ("a\u{0}b\u{7F}c", "abc"),
      ("two\nlines\r\n\tand more", "two lines and more"), ("a\u{85}b\u{2028}c", "a b c"),
      ("invoice\u{202E}fdp.exe", "invoicefdp.exe"), ("a\u{2066}b\u{2069}\u{200F}\u{61C}c", "abc"),
      ("\u{FEFF}name", "name"), ("a\u{200B}b\u{2060}c\u{E0041}d", "abcd"), ("👩‍👩‍👧", "👩‍👩‍👧"),
      ("no https://u:p@host/x?token=1\u{1B}", "no https://host/x?token=…"),
    ])
  func sanitizes(text: String, expected: String) {
    #expect(TerminalText.sanitized(text) == expected)
  }

  @Test(arguments: [
    ("plain", "plain"), ("a%20b", "a b"), ("%E6%9D%B1", "東"), ("%e6%9d%b1", "東"), ("100%", "100%"),
    ("%zz%2", "%zz%2"), ("%FF", "\u{FFFD}"),
  ])
  func decodes(text: String, expected: String) {
    #expect(String(decoding: PercentEncoding.decode(text), as: UTF8.self) == expected)
  }

  @Test("a name without its place in the locale")
  func fallsBackToASCII() {
    #expect(TerminalText.shown("東京\u{1B}.pdf", .ascii) == "??.pdf")
    #expect(TerminalText.shown("東京\u{1B}.pdf", .unicode) == "東京.pdf")
  }
}

@Suite("Cutting to cells")
struct TextCutTests {
  @Test(arguments: [
    ("short", 10, "short"), ("exactly", 7, "exactly"), ("longer text", 7, "longer…"), ("日本語", 5, "日本…"),
    ("日本語", 4, "日…"), ("abc", 1, "a"), ("abc", 0, ""), ("日本", 1, ""),
  ])
  func atEnd(text: String, width: Int, expected: String) {
    #expect(TextCut.atEnd(text, to: width, ellipsis: "…") == expected)
  }

  @Test(
    "both ends stay, the extension with them",
    arguments: [
      ("debian-12.5.0-amd64-netinst.iso", 23, "debian-12.5.0-a…nst.iso"),
      ("a-very-long-name.safetensors", 24, "a-very-long….safetensors"),
      ("archive.tar.gz", 13, "archive.…r.gz"), ("東京の地図の詳細.pdf", 12, "東京の….pdf"),
      ("name", 4, "name"), ("long-name", 5, "long…"), (".profile-of-the-user", 12, ".profil…user"),
    ])
  func inMiddle(text: String, width: Int, expected: String) {
    #expect(TextCut.inMiddle(text, to: width, ellipsis: "…") == expected)
  }

  private static let stations = ["A", "B"].map { "dataset-2024-01-01-measurements-station-\($0)-calibrated.csv.gz" }

  @Test(
    "names that differ are told apart where they are cut",
    arguments: [
      (["a.bin", "b.bin"], 19, ["a.bin", "b.bin"]), (stations, 19, ["data…on-A-calibrat…", "data…on-B-calibrat…"]),
      (stations, 40, ["dataset-2024-01-0…on-A-calibrated.csv.gz", "dataset-2024-01-0…on-B-calibrated.csv.gz"]),
      (stations + ["x"], 19, ["data…on-A-calibrat…", "data…on-B-calibrat…", "x"]),
      // The same name twice cannot be.
      ([stations[0], stations[0]], 19, ["dataset-2024…csv.gz", "dataset-2024…csv.gz"]),
      (
        [stations[0], stations[0], stations[1]], 19,
        Array(repeating: "data…on-A-calibrat…", count: 2) + ["data…on-B-calibrat…"]
      ),
      (stations, 8, ["data….gz", "data….gz"]),
    ])
  func apart(names: [String], width: Int, expected: [String]) {
    let cut = TextCut.apart(names, to: width, ellipsis: "…")
    #expect(cut == expected)
    #expect(cut.allSatisfy { CellWidth.of($0) <= width })
  }

  @Test("whatever differs, where there is room for a few cells of it", arguments: 12...70)
  func apart(width: Int) {
    let text = Array("0123456789-abcdefghijklmnopqrstuvwxyz_東京の地図.tar.gz")
    let names = [String(text)] + text.indices.map { String(text[..<$0]) + "#" + String(text[($0 + 1)...]) }
    for name in names.dropFirst() {
      let cut = TextCut.apart([names[0], name], to: width, ellipsis: "…")
      #expect(cut[0] != cut[1] && cut.allSatisfy { CellWidth.of($0) <= width }, "\(width): \(cut)")
    }
  }

  @Test(
    "never wider than asked, whatever the text",
    arguments: [
      "日本語の長い名前.tar.gz", "👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧.png",
      "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
      "plain.and.long.name",
    ])
  func keepsTheBound(text: String) {
    for width in 0...30 {
      for ellipsis in ["…", "..", ""] {
        #expect(CellWidth.of(TextCut.inMiddle(text, to: width, ellipsis: ellipsis)) <= width)
        #expect(CellWidth.of(TextCut.atEnd(text, to: width, ellipsis: ellipsis)) <= width)
      }
    }
  }
}
