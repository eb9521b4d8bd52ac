import DownloadModel
import FileReceiving
import Testing

@testable import dlm

@Suite("Each piece of work lives as long as its line")
struct WatchedStateTests {
  private final class Bench {
    var lines = WatchedState(lists: 2)
    var log: [String] = []

    func change(_ text: String, list: Int = 0, mayLose: Bool = true) throws {
      let requests = try text.split(separator: " ").map { word in
        let parts = word.split(separator: "=")
        return DownloadRequest(
          id: 0, address: try Address("http://h/\(parts[0])"),
          wishes: parts.count > 1 ? .init(outputName: String(parts[1])) : nil)
      }
      let change = ListChange(from: lines.keys(of: list), to: requests.map(\.key))
      note(lines.change(list, by: change, to: requests, mayLose: mayLose, numbers: NameNumbers()))
    }

    func ended(_ id: Int, _ code: DownloadError.Code? = nil) {
      let removed = lines.ended(
        id, code.map { .failure(DownloadError($0)) } ?? .success(DownloadOutcome(kind: .fetched, path: "x", size: 1)))
      note(WatchedState.Effects(removed: removed))
    }

    func askAgain() {
      let count = lines.askAgain()
      note(WatchedState.Effects())
      #expect(log.count == count)
    }

    private func note(_ effects: WatchedState.Effects) {
      // The run takes what it can have at once.
      while let request = lines.take() { log.append("+\(request.id)") }
      log += effects.cancel.sorted().map { "x\($0)" }
      log += effects.removed.map { "-\($0.request.id) \($0.was.rawValue)" }
    }

    func take() -> String {
      defer { log = [] }
      return log.joined(separator: ", ")
    }
  }

  @Test func linesComeAndGo() throws {
    let bench = Bench()
    try bench.change("a b c")
    #expect(bench.take() == "+0, +1, +2" && !bench.lines.isIdle)
    bench.ended(0)
    bench.ended(1, .status)
    try bench.change("c d")
    #expect(bench.take() == "+3, -0 done, -1 failed")
    try bench.change("d")
    #expect(bench.take() == "x2" && bench.lines.count == 2, "it is a line until it has ended")
    bench.ended(2, .cancelled)
    #expect(bench.take() == "-2 running" && bench.lines.count == 1)
    bench.ended(3)
    #expect(bench.lines.isIdle && bench.lines.isSettled && bench.lines.failures.isEmpty)
    try bench.change("d e")
    bench.ended(4, .cancelled)
    #expect(!bench.lines.isSettled && bench.lines.failures.isEmpty, "the run has ended, and cut it short")
  }

  /// The file of the line that ends is still its own: the next one would find it taken.
  @Test func aLineThatIsPutBackBeginsWhenTheOldOneHasEnded() throws {
    let bench = Bench()
    try bench.change("a b")
    try bench.change("b")
    try bench.change("b a")
    #expect(bench.take() == "+0, +1, x0")
    try bench.change("b")
    #expect(bench.take() == "-2 waiting", "it had not begun")
    try bench.change("b a")
    bench.ended(0, .cancelled)
    #expect(bench.take() == "+3, -0 running")
  }

  @Test func anEqualLineOfAnotherListStays() throws {
    let bench = Bench()
    try bench.change("a b")
    try bench.change("c a", list: 1)
    #expect(bench.take() == "+0, +1, +2, +3")
    try bench.change("b")
    #expect(bench.take() == "x0")
    bench.ended(0, .cancelled)
    #expect(bench.take() == "-0 running")
    try bench.change("c", list: 1)
    #expect(bench.take() == "x3", "nobody wants it any more")
    try bench.change("a b")
    bench.ended(3, .cancelled)
    #expect(bench.take() == "+4, -3 running")
  }

  @Test func aChangedLineBeginsAnewAlone() throws {
    let bench = Bench()
    try bench.change("a b")
    try bench.change("a=x b")
    #expect(bench.take() == "+0, +1, x0")
    bench.ended(0, .cancelled)
    #expect(bench.take() == "+2, -0 running")
    bench.ended(2)
    try bench.change("a b")
    #expect(bench.take() == "+3, -2 done")
  }

  @Test func aLineThatEndedWellAsItWasCancelledIsDone() throws {
    let bench = Bench()
    try bench.change("a")
    try bench.change("")
    bench.ended(0)
    #expect(bench.take() == "+0, x0, -0 done" && bench.lines.isIdle)
  }

  @Test func whatMayNotBeLostStays() throws {
    let bench = Bench()
    try bench.change("a b")
    try bench.change("c a=x", mayLose: false)
    #expect(bench.take() == "+0, +1, +2")
    try bench.change("c b a", mayLose: false)
    #expect(bench.take().isEmpty)
    try bench.change("c b a")
    #expect(bench.take().isEmpty && bench.lines.count == 3)
  }

  @Test func listsAreApart() throws {
    let bench = Bench()
    try bench.change("a")
    try bench.change("a", list: 1)
    try bench.change("")
    #expect(bench.take() == "+0, +1, x0" && bench.lines.count(of: 1) == 1)
    bench.ended(0, .cancelled)
    #expect(bench.take() == "-0 running")
    bench.ended(1)
    #expect(bench.lines.isSettled && bench.lines.count == 1)
  }

  @Test func askedAgain() throws {
    let bench = Bench()
    try bench.change("a b c")
    bench.ended(0)
    bench.ended(1, .status)
    _ = bench.take()
    bench.askAgain()
    #expect(bench.take() == "+0, +1" && !bench.lines.isIdle && !bench.lines.isSettled, "c has not ended")
    bench.askAgain()
    #expect(bench.take().isEmpty, "they are under way")
    bench.ended(2)
    #expect(bench.lines.isSettled && !bench.lines.isIdle)
    #expect(bench.lines.failures.map(\.code) == [.status])
    bench.ended(1)
    bench.ended(0, .cancelled)
    #expect(bench.lines.failures.isEmpty && bench.lines.isIdle, "a question that was cut short says nothing")
    bench.askAgain()
    bench.ended(0, .connect)
    #expect(bench.lines.failures.map(\.code) == [.connect])
    _ = bench.take()
    try bench.change("a c")
    bench.ended(1)
    #expect(bench.take() == "x1, -1 done")
    try bench.change("d")
    bench.ended(3, .skipped)
    _ = bench.take()
    bench.askAgain()
    #expect(bench.take().isEmpty, "the user gave it up")
  }
}
