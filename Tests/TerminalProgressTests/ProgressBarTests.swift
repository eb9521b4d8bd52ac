import Testing

@testable import TerminalProgress

@Suite("Bars")
struct ProgressBarTests {
  private func text(_ extent: ProgressBar.Extent, _ cells: Int, _ glyphs: Glyphs.Bar) -> String {
    let bar = ProgressBar(extent, cells: cells, glyphs: glyphs)
    return bar.before + bar.filled + bar.after
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
    #expect(text(.empty, 5, .ascii) == ".....")
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
}

@Suite("Progress on the taskbar")
struct TaskbarProgressTests {
  @Test(
    arguments: [
      (0.0, 0, TaskbarProgress.percent(0)), (0.999, 0, .percent(99)), (1, 0, .percent(100)),
      (0.5, 2, .failing(50)),
      (nil, 2, .busy), (7, 0, .percent(100)),
    ] as [(Double?, Int, TaskbarProgress)])
  func decides(fraction: Double?, failed: Int, expected: TaskbarProgress) {
    #expect(TaskbarProgress(fraction: fraction, failed: failed) == expected)
  }

  @Test(arguments: [
    (TaskbarProgress.hidden, "\u{1B}]9;4;0;0\u{1B}\\"), (.percent(42), "\u{1B}]9;4;1;42\u{1B}\\"),
    (.failing(42), "\u{1B}]9;4;2;42\u{1B}\\"), (.busy, "\u{1B}]9;4;3;0\u{1B}\\"),
  ])
  func speaks(progress: TaskbarProgress, expected: String) {
    #expect(progress.sequence == expected)
  }
}
