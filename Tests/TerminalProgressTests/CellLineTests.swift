import Testing

@testable import TerminalProgress

@Suite("Only cells that changed are sent")
struct CellLineTests {
  private static func change(_ old: String, _ new: String) -> String {
    var pen = FrameWriter.Pen()
    pen.change(row: 0, from: CellLine(old).trimmed, to: CellLine(new).trimmed)
    return String(decoding: pen.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("same", "same", ""),
    ("", "", ""),
    ("", "new", "new"),
    ("abcdefg", "abcdefh", "\u{1B}[7Gh"),
    ("name  10%  3 MiB", "name  11%  4 MiB", "\u{1B}[8G1\u{1B}[12G4"),
    ("1 this stays here 1", "2 this stays here 2", "2\u{1B}[19G2"),
    ("longer", "long", "\u{1B}[5G\u{1B}[K"),
    ("gone", "", "\u{1B}[K"),
    ("ab   ", "ab", ""),
    // Styles are sent where they change, and a blank has none.
    ("\u{1B}[31mred\u{1B}[0m", "\u{1B}[31mrad\u{1B}[0m", "\u{1B}[2G\u{1B}[31ma"),
    ("\u{1B}[31mred\u{1B}[0m", "red", "red"),
    ("a\u{1B}[2m b\u{1B}[0m", "a \u{1B}[2mb\u{1B}[0m", ""),
    ("x", "\u{1B}[1my\u{1B}[0m\u{1B}[2mz\u{1B}[0m", "\u{1B}[1my\u{1B}[0;2mz"),
    // Both halves of a wide character.
    ("界x", "界y", "\u{1B}[3Gy"),
    ("界x", "a x", "a "),
    ("ab", "界", "界"),
    ("a界", "界b", "界b"),
    // Where terminals differ about a width, what comes behind has its column said; a change in such a part
    // makes it anew.
    ("", "e\u{301}x", "e\u{301}\u{1B}[2Gx"),
    ("e\u{301}x", "e\u{301}y", "\u{1B}[2Gy"),
    ("ae\u{301}x", "be\u{301}x", "\u{1B}[Kbe\u{301}\u{1B}[3Gx"),
  ])
  func line(old: String, new: String, sent: String) {
    #expect(Self.change(old, new) == sent)
  }

  @Test("what is drawn at once, above the region, has the same styles")
  func text() {
    var line = CellLine(ellipsis: "…", isColored: true)
    line.append("✓", .done)
    line.pad(to: 2)
    line.append("日本語.pdf", left: 8)
    line.append("1 B", right: 6, .dim)
    line.append(" and more", upTo: 20, .dim)
    #expect(line.width == 20)
    #expect(line.text == "\u{1B}[32m✓\u{1B}[0m 日….pdf    \u{1B}[2m1 B an…\u{1B}[0m")
    var plain = CellLine()
    plain.append("a", .done)
    #expect(plain.text == "a")
  }

  @Test(
    arguments: [
      (true, "\r\u{1B}7\r\u{1B}[Bnew\r\u{1B}[3Bnew\u{1B}8"), (false, "\r\nnew\r\n\r\n\r\nnew\r\u{1B}[4A"),
    ])
  func rowsBelowOneAnother(savesCursor: Bool, bytes: String) {
    var pen = FrameWriter.Pen(savesCursor: savesCursor)
    let (old, new) = (CellLine("old"), CellLine("new"))
    pen.change(row: 1, from: old, to: new)
    pen.change(row: 4, from: old, to: new)
    pen.home()
    #expect(String(decoding: pen.bytes, as: UTF8.self) == bytes)
  }

  @Test("a line that is appended keeps its wide and its uncertain characters")
  func joined() {
    var line = CellLine("界e\u{301}x")
    line.append(CellLine("y"))
    #expect(line.width == 5 && line.certainFrom == 3)
    line.append(CellLine("a👩‍💻界"))
    #expect(line == CellLine("界e\u{301}xya👩‍💻界"))
    #expect(line.text == "界e\u{301}xya👩‍💻界" && line.certainFrom == 8)
  }
}
