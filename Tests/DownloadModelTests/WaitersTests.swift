import DownloadModel
import Synchronization
import TestSupport
import Testing

@Suite("Waiters: each waiting task goes on once, with its answer or without", .timeLimit(.minutes(hangMinutes)))
struct WaitersTests {
  /// What is waited for here: numbers, of which each goes to one task.
  private let stock = Waiters([Int]())

  private static func takeFirst(_ stock: inout [Int]) -> Int? { stock.isEmpty ? nil : stock.removeFirst() }

  private func put(_ number: Int) { stock.withLock { $0.append(number) } }

  private var left: [Int] { stock.withLock { $0 } }

  /// A task that waits when this returns: a wait is asked once before it is enlisted and once within that step.
  private func waiting<Answer: Sendable>(
    _ take: @escaping @Sendable (inout [Int]) -> Answer?
  ) async -> Task<Answer?, Never> {
    let asked = Counter()
    let task = Task { [stock] in
      await stock.wait { value in
        asked.add()
        return take(&value)
      }
    }
    while asked.count < 2 { await Task.yield() }
    return task
  }

  @Test func whatIsThereIsTakenAtOnce() async {
    put(1)
    put(2)
    #expect(await stock.wait(Self.takeFirst) == 1)
    #expect(left == [2])
  }

  @Test func aTaskWaitsForItsAnswer() async {
    let task = await waiting { stock in stock.last == 7 ? stock.removeLast() : nil }
    put(1)
    put(7)
    #expect(await task.value == 7)
    #expect(left == [1])
  }

  @Test func anAnswerMayBeNil() async {
    let task = await waiting { stock -> Int?? in stock.isEmpty ? nil : .some(nil) }
    put(1)
    #expect(await task.value == .some(nil))
  }

  @Test func tasksAreAnsweredInTheirOrder() async {
    var tasks: [Task<Int?, Never>] = []
    for _ in 0..<8 { tasks.append(await waiting(Self.takeFirst)) }
    stock.withLock { $0 = Array(0..<8) }
    for (number, task) in tasks.enumerated() { #expect(await task.value == number) }
  }

  @Test func whatOneTakesLetsAnEarlierOneGoOn() async {
    put(1)
    let forRoom = await waiting { $0.isEmpty ? () : nil }
    #expect(await stock.wait(Self.takeFirst) == 1)
    #expect(await forRoom.value != nil)

    put(1)
    let again = await waiting { $0.isEmpty ? () : nil }
    let forTwo = await waiting { stock -> Int? in
      stock.count == 2 ? stock.removeFirst() + stock.removeFirst() : nil
    }
    put(2)
    #expect(await forTwo.value == 3)
    #expect(await again.value != nil)
  }

  // MARK: Cancellation

  @Test func whoIsCancelledBeforeTakesNothing() async {
    put(1)
    let task = Task { [stock] in
      withUnsafeCurrentTask { $0?.cancel() }
      return await stock.wait(Self.takeFirst)
    }
    #expect(await task.value == nil)
    #expect(left == [1])
  }

  @Test func whoIsCancelledWhileWaitingTakesNothing() async {
    let first = await waiting(Self.takeFirst)
    let second = await waiting(Self.takeFirst)
    first.cancel()
    #expect(await first.value == nil)
    put(1)
    #expect(await second.value == 1)
    #expect(left == [])
  }

  @Test func whoIsCancelledAfterKeepsItsAnswer() async {
    let task = await waiting(Self.takeFirst)
    put(1)
    task.cancel()
    #expect(await task.value == 1)
    #expect(left == [])
  }

  /// Whichever comes first, no number is lost and none is given twice.
  @Test func cancelledAtTheSameMoment() async {
    for number in 0..<2000 {
      let task =
        number.isMultiple(of: 2)
        ? await waiting(Self.takeFirst) : Task { [stock] in await stock.wait(Self.takeFirst) }
      async let cancelled: Void = Task { task.cancel() }.value
      async let answered: Void = Task { put(number) }.value
      _ = await (cancelled, answered)
      let answer = await task.value
      #expect(left + (answer.map { [$0] } ?? []) == [number])
      stock.withLock { $0 = [] }
    }
  }

  @Test func manyTasksAndManyThatChangeTheValue() async {
    let taken = await withTaskGroup(of: Int?.self) { group in
      for number in 0..<1000 {
        group.addTask { [stock] in await stock.wait(Self.takeFirst) }
        group.addTask {
          put(number)
          return nil
        }
      }
      return await group.reduce(into: []) { taken, number in number.map { taken.append($0) } }
    }
    #expect(taken.sorted() == Array(0..<1000))
    #expect(left == [])
  }

  // MARK: Waiting on

  @Test(arguments: [true, false]) func whoWaitsOnHasItsAnswerAlsoIfCancelled(isBefore: Bool) async {
    let (asked, cancelled) = (Counter(), Counter())
    let task = Task { [stock] in
      if isBefore { withUnsafeCurrentTask { $0?.cancel() } }
      return await stock.wait { value -> Int? in
        asked.add()
        return Self.takeFirst(&value)
      } onCancel: {
        cancelled.add()
      }
    }
    // A cancelled task is asked once, when it is enlisted.
    while asked.count < (isBefore ? 1 : 2) { await Task.yield() }
    task.cancel()
    while cancelled.count < 1 { await Task.yield() }
    put(1)
    #expect(await task.value == 1)
    #expect(cancelled.count == 1)
  }

  @Test func aCancellationCanBringTheAnswerAbout() async {
    let task = Task { [stock] in
      withUnsafeCurrentTask { $0?.cancel() }
      return await stock.wait(Self.takeFirst) { stock.withLock { $0.append(9) } }
    }
    #expect(await task.value == 9)
  }
}

private final class Counter: Sendable {
  private let number = Atomic(0)
  var count: Int { number.load(ordering: .acquiring) }
  func add() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}
