import DownloadModel
import DownloadScheduling
import Testing

@Suite("What a mode makes of the settings")
struct RunConcurrencyTests {
  struct Row: Sendable {
    let mode: DownloadMode
    let jobs: Int
    let segments: Int
    let loops: Int
    var files: Int?
    let widths: [Int]
    let atATime: Int
  }

  /// Segments were once handed to every mode.
  @Test(arguments: [
    Row(mode: .sequential, jobs: 64, segments: 32, loops: 8, widths: [1], atATime: 1),
    Row(mode: .sequential, jobs: 1, segments: 8, loops: 1, files: 100, widths: [1], atATime: 1),
    Row(mode: .parallel, jobs: 64, segments: 32, loops: 2, widths: [32, 32], atATime: 32),
    Row(mode: .asyncLet, jobs: 5, segments: 1, loops: 2, widths: [3, 2], atATime: 1),
    Row(mode: .asyncLet, jobs: 3, segments: 4, loops: 8, widths: [1, 1, 1], atATime: 4),
    Row(mode: .parallel, jobs: 16, segments: 4, loops: 8, files: 2, widths: [8, 8], atATime: 4),
    Row(mode: .parallel, jobs: 16, segments: 4, loops: 8, files: 0, widths: [16], atATime: 4),
    Row(mode: .auto, jobs: 64, segments: 32, loops: 2, widths: [32, 32], atATime: 32),
    // One file has no width to find, and may be split as before.
    Row(mode: .parallel, jobs: 64, segments: 32, loops: 8, files: 1, widths: [1], atATime: 32),
    Row(mode: .auto, jobs: 64, segments: 32, loops: 1, files: 1, widths: [1], atATime: 32),
    Row(mode: .parallel, jobs: 0, segments: 0, loops: 0, widths: [1], atATime: 1),
  ])
  func table(row: Row) {
    let concurrency = RunConcurrency(
      row.mode, jobs: row.jobs, segments: row.segments, loops: row.loops, files: row.files)
    #expect(concurrency.widths == row.widths)
    #expect(concurrency.segments == row.atATime)
    #expect(concurrency.jobs == row.widths.reduce(0, +))
  }
}
