import DownloadModel
import Synchronization
import Testing

@testable import TerminalProgress

@Suite("Which files have a row")
struct ActiveRowsTests {
  private var rows = ActiveRows(glyphs: .unicode)

  private mutating func names(_ active: [ProgressSample.ActiveDownload], at seconds: Double, lines: Int = 10) -> [Int] {
    rows.update(active, retries: [:], at: .seconds(seconds), lines: lines)
    return rows.shown.map(\.id)
  }

  @Test("not those that are over in a moment")
  mutating func seasoning() throws {
    let active = [try Scene.active(1), try Scene.active(2)]
    #expect(names(active, at: 0).isEmpty)
    #expect(names(active, at: 0.29).isEmpty)
    #expect(names(active, at: 0.3) == [1, 2])
    #expect(names([active[1]], at: 0.35) == [2])
  }

  @Test("most left to do first, then in order of the list; afterwards no row changes places")
  mutating func order() throws {
    let small = try Scene.active(1, of: 1000)
    let large = try Scene.active(2, of: 1_000_000)
    let near = try Scene.active(3, of: 900_000)
    let active = [near, small, large]
    #expect(names(active, at: 0).isEmpty)
    #expect(names(active, at: 1) == [2, 3, 1])
    large.meter.add(999_999)
    #expect(names(active.reversed(), at: 2) == [2, 3, 1])
    let late = try Scene.active(4, of: 1 << 40)
    #expect(names(active + [late], at: 3) == [2, 3, 1])
    #expect(names(active + [late], at: 4) == [2, 3, 1, 4])
    #expect(names([small, late], at: 5) == [1, 4])
  }

  @Test(
    "when there is no room, a free row goes to the file with most left, and the last line says how many more")
  mutating func room() throws {
    let active = try (1...6).map { try Scene.active($0, of: Int64(1) << Int64($0 + 10)) }
    _ = names(active, at: 0, lines: 4)
    #expect(names(active, at: 1, lines: 4) == [6, 5, 4])
    #expect(rows.hidden == 3)
    #expect(names(active.filter { $0.id != 5 }, at: 2, lines: 4) == [6, 4, 3])
    #expect(rows.hidden == 2)
    // Four fit four lines; no line is needed for "more".
    #expect(names(active.filter { $0.id < 5 }, at: 3, lines: 4) == [4, 3, 2, 1])
    #expect(rows.hidden == 0)
    // The window became smaller, then vanished.
    #expect(names(active.filter { $0.id < 5 }, at: 4, lines: 2) == [4])
    #expect(rows.hidden == 3)
    #expect(names(active.filter { $0.id < 5 }, at: 5, lines: -1).isEmpty)
  }

  @Test("what an earlier run left is no speed, and a new attempt counts from where it began")
  mutating func resumed() throws {
    let file = try Scene.active(1, at: 5000, from: 5000, of: 20_000)
    _ = names([file], at: 0)
    file.meter.add(1000)
    _ = names([file], at: 1)
    #expect(rows.shown.first?.rate.rate(at: .seconds(1)).rounded() == 1000)
    // A retry takes back what it lost: 500 bytes from the beginning, in the same second again.
    file.meter.begin(at: 0, total: 20_000)
    file.meter.add(1000)
    _ = names([file], at: 2)
    #expect(rows.shown.first?.rate.rate(at: .seconds(2)).rounded() == 1000)
    #expect(rows.shown.first?.progress.position == 1000)
  }

  @Test("waiting for the first answer is ignored as slowness")
  mutating func waiting() throws {
    let file = try Scene.active(1)
    for second in 0...30 { _ = names([file], at: Double(second)) }
    file.meter.begin(at: 0, total: 9000)
    file.meter.add(1000)
    _ = names([file], at: 31)
    #expect(rows.shown.first?.rate.rate(at: .seconds(31)).rounded() == 1000)
  }

  @Test("a retry is shown until it begins or bytes arrive")
  mutating func retry() throws {
    let file = try Scene.active(1, at: 10, of: 100)
    let retry = ActiveRow.Retry(
      next: NextAttempt(attempt: 3, retry: 2, of: 5, delay: .seconds(4)), until: .seconds(5))
    rows.update([file], retries: [file.address: retry], at: .seconds(1), lines: 5)
    _ = names([file], at: 2)
    #expect(rows.shown.first?.retry == retry)
    _ = names([file], at: 5)
    #expect(rows.shown.first?.retry == nil)
    rows.update([file], retries: [file.address: retry], at: .seconds(3), lines: 5)
    file.meter.add(1)
    _ = names([file], at: 4)
    #expect(rows.shown.first?.retry == nil)
  }

  @Test("a word for what happens before the first byte and after the last, and for a stall")
  mutating func status() throws {
    let file = try Scene.active(1, of: 100)
    func status(at seconds: Double) -> ActiveRow.Status? { rows.all.first?.status(at: .seconds(seconds)) }
    for phase in [TransferMeter.Phase.lookingUp, .connecting, .waiting] {
      file.meter.enter(phase)
      _ = names([file], at: 1)
      #expect(status(at: 9) == .phase(phase, since: .seconds(1)))
    }
    file.meter.begin(at: 0, total: 100)
    _ = names([file], at: 10)
    #expect(status(at: 14.9) == nil)
    #expect(status(at: 15) == .stalled(since: .seconds(10)))
    file.meter.add(50)
    _ = names([file], at: 20)
    #expect(status(at: 20) == nil)
    #expect(status(at: 30) == .stalled(since: .seconds(20)))
    file.meter.add(50)
    file.meter.enter(.checking)
    _ = names([file], at: 31)
    #expect(status(at: 60) == .phase(.checking, since: .seconds(31)))
  }

  @Test("a file that has stalled has no time left to tell")
  mutating func noTimeInAStall() throws {
    let file = try Scene.active(1, of: 1_000_000)
    for second in 0...20 {
      if second <= 10 { file.meter.add(10_000) }
      rows.update([file], retries: [:], at: .seconds(second), lines: 4)
      let left = rows.all.first?.timeLeft(at: .seconds(second))
      #expect((left != nil) == (2..<15 ~= second), "\(second)")
      #expect(rows.all.first?.hasStalled(at: .seconds(second)) == (second >= 15))
    }
  }

  @Test("only rows that are shown are asked for their parts")
  mutating func parts() throws {
    let sources = [Parts(), Parts(), Parts()]
    let files = [
      try Scene.active(1, of: 1000), try Scene.active(2, of: 10), try Scene.active(3, of: 10),
    ]
    for (file, source) in zip(files, sources) { file.meter.split { source.parts } }
    for second in 0...3 { _ = names(files, at: Double(second), lines: 2) }
    #expect(rows.shown.map(\.id) == [1])
    #expect(rows.shown.first?.parts == [0..<7, 10..<20])
    #expect(sources.map { $0.asked.withLock { $0 } } == [3, 0, 0])
  }

  private final class Parts: Sendable {
    let asked = Lock(0)
    var parts: [Range<Int64>]? {
      asked.withLock { $0 += 1 }
      return [0..<7, 10..<20]
    }
  }

  @Test("of a thousand files, the largest have rows, in the order of a sorted list")
  mutating func thousand() throws {
    let active = try (0..<1000).map { try Scene.active($0, of: Int64(1 + ($0 * 7919) % 1000) << 20) }
    _ = names(active, at: 0, lines: 21)
    let shown = names(active, at: 1, lines: 21)
    let expected = active.sorted {
      let (left, right) = ($0.meter.total ?? 0, $1.meter.total ?? 0)
      let (leftSize, rightSize) = (left.leadingZeroBitCount, right.leadingZeroBitCount)
      return leftSize == rightSize ? $0.id < $1.id : leftSize < rightSize
    }
    #expect(shown == expected.prefix(20).map(\.id))
    #expect(rows.hidden == 980)
  }

  @Test(
    "a name from the address",
    arguments: [
      ("https://example.org/a/b.iso?x=1", "b.iso"),
      ("https://example.org/%E6%9D%B1%1B%5B31m.pdf", "東[31m.pdf"),
      ("https://example.org/", "example.org"), ("https://user:secret@example.org", "example.org"),
    ])
  func name(address: String, expected: String) throws {
    #expect(ActiveRow.name(of: try Address(address), .unicode) == expected)
  }
}
