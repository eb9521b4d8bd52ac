import TestSupport
import Testing

@testable import dlm

@Suite("Bytes of a terminal become keys (ECMA-48)")
struct KeyDecoderTests {
  private static func keys(_ text: String) -> [TerminalKey] {
    var decoder = KeyDecoder()
    return text.utf8.compactMap { decoder.take($0) }
  }

  @Test(
    arguments: [
      ("a", [.text("a")]), ("é日😀", [.text("é"), .text("日"), .text("😀")]),
      ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7F}\u{8}", [.backspace, .backspace]),
      ("\u{1}\u{15}", [.control("a"), .control("u")]),
      ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.up, .down, .right, .left]),
      ("\u{1B}OA\u{1B}OD", [.up, .left]),  // application mode
      ("\u{1B}[1;5C\u{1B}[1;3D\u{1B}b\u{1B}f", [.wordRight, .wordLeft, .wordLeft, .wordRight]),
      ("\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[7~\u{1B}[8~", [.home, .end, .home, .end, .home, .end]),
      ("\u{1B}[3~", [.delete]), ("\u{1B}[15~x", [.text("x")]),  // F5 is none
      ("\u{1B}\u{1B}[A", [.escape, .up]), ("\u{1B}x", [.text("x")]),
      ("\u{1B}[200~one\rtwo\u{1B}[A\u{1B}[201~\r", [.paste("one\ntwo\u{1B}[A"), .enter]),
    ] as [(String, [TerminalKey])])
  func sequences(bytes: String, keys: [TerminalKey]) { #expect(Self.keys(bytes) == keys) }

  /// Escape alone begins like an arrow: only time tells.
  @Test func escapeByItself() {
    var decoder = KeyDecoder()
    #expect(decoder.take(0x1B) == nil)
    #expect(decoder.isWithin)
    #expect(decoder.flush() == .escape)
    #expect(!decoder.isWithin)
    #expect(decoder.flush() == nil)
    #expect(decoder.take(UInt8(ascii: "[")) == .text("["))
  }

  @Test func brokenCharacters() {
    var decoder = KeyDecoder()
    #expect([0xC3, 0x61].compactMap { decoder.take($0) } == [.text("a")])
    #expect([0x80, 0xFF, 0x62].compactMap { decoder.take($0) } == [.text("b")])
    #expect([0xF0, 0x9F, 0x98, 0x1B, 0x5B, 0x41].compactMap { decoder.take($0) } == [.up])
  }

  /// Whatever comes, it neither crashes nor waits for ever. The cursor once stood behind the end, where a
  /// letter was typed before an accent.
  @Test(arguments: 0..<50 as Range<UInt64>) func anything(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var decoder = KeyDecoder()
    var editor = LineEditor("name")
    let pieces = [
      "\u{1B}[D", "\u{1B}[H", "\u{1B}[F", "\u{301}", "e", "\u{200D}", "👩", "🇩", "\u{8}", "\u{1B}[3~",
    ]
    for _ in 0..<1000 {
      var bytes = [UInt8.random(in: 0...255, using: &random)]
      switch Int.random(in: 0..<4, using: &random) {
      case 0: break
      case 1: bytes = Array("\u{1B}[0;5~ABCDHF".utf8).randomElement(using: &random).map { [$0] } ?? []
      default: bytes = Array((pieces.randomElement(using: &random) ?? "").utf8)
      }
      for key in bytes.compactMap({ decoder.take($0) }) { _ = editor.take(key) }
      #expect(editor.cursor >= 0 && editor.cursor <= editor.text.count)
      #expect(editor.beforeCursor + editor.afterCursor == editor.text)
    }
    _ = decoder.take(0x1B)
    for byte in "[201~".utf8 { _ = decoder.take(byte) }
    _ = decoder.flush()
    #expect(decoder.take(UInt8(ascii: "z")) == .text("z"))
  }
}

@Suite("A line is edited as in a shell; a suggestion is selected")
struct LineEditorTests {
  private static func edit(_ suggestion: String, _ keys: [TerminalKey]) -> (LineEditor, LineEditor.Step) {
    var editor = LineEditor(suggestion)
    var step = LineEditor.Step.editing
    for key in keys { step = editor.take(key) }
    return (editor, step)
  }

  private static func shown(_ editor: LineEditor) -> String {
    editor.isSelected ? "[\(editor.text)]" : "\(editor.beforeCursor)|\(editor.afterCursor)"
  }

  @Test(
    arguments: [
      ([], "[old.txt]"),
      ([.text("n")], "n|"),
      ([.backspace], "|"), ([.delete], "|"), ([.control("u")], "|"), ([.control("w")], "|"),
      ([.left], "|old.txt"), ([.right], "old.txt|"), ([.home], "|old.txt"), ([.end], "old.txt|"),
      ([.right, .text("x")], "old.txtx|"), ([.right, .left, .text("x")], "old.txx|t"),
      ([.left, .left], "|old.txt"), ([.right, .right], "old.txt|"),
      ([.right, .backspace], "old.tx|"), ([.home, .delete], "|ld.txt"), ([.home, .backspace], "|old.txt"),
      ([.end, .delete], "old.txt|"),
      ([.end, .wordLeft], "old.|txt"), ([.end, .wordLeft, .wordLeft], "|old.txt"),
      ([.home, .wordRight], "old|.txt"), ([.end, .control("w")], "old.|"),
      ([.home, .wordRight, .control("k")], "old|"), ([.home, .wordRight, .control("u")], "|.txt"),
      ([.control("a"), .text("é")], "é|old.txt"), ([.end, .text("e"), .text("\u{301}")], "old.txte\u{301}|"),
      ([.home, .text("\u{301}"), .home, .text("e"), .end], "e\u{301}old.txt|"),
      ([.paste("\n  \nfirst\nsecond")], "first|"), ([.paste("a\u{1B}[Ab\u{7}")], "a[Ab|"),
      ([.text("\u{7}")], "[old.txt]"), ([.tab, .control("z")], "[old.txt]"),
    ] as [([TerminalKey], String)])
  func editing(keys: [TerminalKey], shown: String) {
    #expect(Self.shown(Self.edit("old.txt", keys).0) == shown)
  }

  @Test func ends() {
    #expect(Self.edit("old", [.text("n"), .enter]).1 == .taken)
    #expect(Self.edit("old", [.text("n"), .escape]).1 == .left)
    #expect(Self.edit("", []).0.isSelected == false)
  }
}
