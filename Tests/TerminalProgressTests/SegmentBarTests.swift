import Testing

@testable import TerminalProgress

@Suite("The bar of a file in several parts")
struct SegmentBarTests {
  struct Row: Sendable {
    var parts: [Range<Int64>]
    var total: Int64 = 100
    var cells = 10
    var line: String
    var ascii: String
  }

  @Test(arguments: [
    Row(parts: [], line: "──────────", ascii: ".........."),
    Row(parts: [0..<100], line: "━━━━━━━━━━", ascii: "##########"),
    Row(parts: [0..<20, 50..<70], line: "━━───━━───", ascii: "##...##..."),
    Row(parts: [0..<1, 99..<100], line: "╾────────╾", ascii: ".........."),
    Row(parts: [0..<25, 25..<50], line: "━━━━━─────", ascii: "#####....."),
    Row(parts: [0..<99], line: "━━━━━━━━━╾", ascii: "#########."),
    Row(parts: [0..<33, 66..<100], total: 100, cells: 3, line: "╾╾━", ascii: "..#"),
    Row(parts: [5..<5, 90..<200], line: "─────────━", ascii: ".........#"),
    Row(parts: [0..<10], total: 0, line: "──────────", ascii: ".........."),
    Row(parts: [0..<10], cells: 0, line: "", ascii: ""), Row(parts: [0..<10], cells: -3, line: "", ascii: ""),
    Row(parts: [0..<10], cells: 1, line: "╾", ascii: "."),
    Row(
      parts: [0..<(Int64.max / 2)], total: .max, cells: 4, line: "━━──", ascii: "##.."),
  ])
  func cells(row: Row) {
    for (glyphs, expected) in [(Glyphs.Bar.line, row.line), (.ascii, row.ascii)] {
      let bar = SegmentBar(row.parts, of: row.total, cells: row.cells, glyphs: glyphs)
      #expect(bar.runs.map(\.text).joined() == expected)
    }
  }

  @Test("what is there and what is not are runs of their own, for their colours")
  func runs() {
    let bar = SegmentBar([0..<20, 50..<70], of: 100, cells: 10, glyphs: .line)
    #expect(bar.runs.map(\.isFilled) == [true, false, true, false])
  }
}
