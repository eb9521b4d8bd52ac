import Testing

@testable import TerminalProgress

@Suite("Bars")
struct ProgressBarTests {
  private func text(_ extent: ProgressBar.Extent, _ cells: Int, _ glyphs: Glyphs.Bar) -> String {
    let levels = ProgressBar.levels(extent, cells: cells, steps: glyphs.steps.count)
    return levels.map { $0 > 0 ? glyphs.steps[$0 - 1] : glyphs.empty }.joined()
  }

  @Test(
    "in eighths of a cell",
    arguments: [
      (0, "    "), (0.001, "▏   "), (0.25, "█   "), (0.375, "█▌  "), (0.99, "███▉"), (1, "████"),
      (-1, "    "),
      (7, "████"), (.nan, "    "),
    ])
  func block(fraction: Double, expected: String) {
    #expect(text(.part(fraction), 4, .block) == expected)
  }

  @Test(
    "a thin one in halves",
    arguments: [
      (0, "────"), (0.01, "╾───"), (0.25, "━───"), (0.4, "━╾──"), (0.99, "━━━╾"), (1, "━━━━"),
    ])
  func line(fraction: Double, expected: String) {
    #expect(text(.part(fraction), 4, .line) == expected)
  }

  @Test("in ASCII", arguments: [(0, "...."), (0.01, "#..."), (0.5, "##.."), (0.99, "###."), (1, "####")])
  func ascii(fraction: Double, expected: String) {
    #expect(text(.part(fraction), 4, .ascii) == expected)
  }

  @Test("an unknown length moves to and fro")
  func moves() {
    let seen = (0...7).map { text(.moving(step: $0), 5, .ascii) }
    #expect(seen == ["#....", ".#...", "..#..", "...#.", "....#", "...#.", "..#..", ".#..."])
    #expect(text(.moving(step: 8), 5, .ascii) == "#....")
    #expect(text(.part(0), 5, .ascii) == ".....")
  }

  @Test("always as wide as asked", arguments: 0...20)
  func width(cells: Int) {
    for glyphs in [Glyphs.Bar.block, .line, .ascii] {
      for step in 0...50 {
        #expect(text(.moving(step: step), cells, glyphs).count == cells)
        #expect(text(.part(Double(step) / 50), cells, glyphs).count == cells)
      }
    }
  }

  // MARK: A file in several parts

  struct InParts: Sendable {
    var parts: [Range<Int64>]
    var total: Int64 = 100
    var cells = 10
    var line: String
    var ascii: String
  }

  @Test(arguments: [
    InParts(parts: [], line: "──────────", ascii: ".........."),
    InParts(parts: [0..<100], line: "━━━━━━━━━━", ascii: "##########"),
    InParts(parts: [0..<20, 50..<70], line: "━━───━━───", ascii: "##...##..."),
    InParts(parts: [0..<1, 99..<100], line: "╾────────╾", ascii: ".........."),
    InParts(parts: [0..<25, 25..<50], line: "━━━━━─────", ascii: "#####....."),
    InParts(parts: [0..<99], line: "━━━━━━━━━╾", ascii: "#########."),
    InParts(parts: [0..<33, 66..<100], total: 100, cells: 3, line: "╾╾━", ascii: "..#"),
    InParts(parts: [5..<5, 90..<200], line: "─────────━", ascii: ".........#"),
    InParts(parts: [0..<10], total: 0, line: "──────────", ascii: ".........."),
    InParts(parts: [0..<60, 0..<60], line: "━━━━━━────", ascii: "######...."),
    InParts(parts: [0..<10], cells: 0, line: "", ascii: ""), InParts(parts: [0..<10], cells: -3, line: "", ascii: ""),
    InParts(parts: [0..<10], cells: 1, line: "╾", ascii: "."),
    InParts(
      parts: [0..<(Int64.max / 2)], total: .max, cells: 4, line: "━━──", ascii: "##.."),
  ])
  func inParts(row: InParts) {
    for (glyphs, expected) in [(Glyphs.Bar.line, row.line), (.ascii, row.ascii)] {
      #expect(text(.parts(row.parts, of: row.total), row.cells, glyphs) == expected)
    }
  }
}
