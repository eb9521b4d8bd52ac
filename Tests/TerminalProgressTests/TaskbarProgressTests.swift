import Testing

@testable import TerminalProgress

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
