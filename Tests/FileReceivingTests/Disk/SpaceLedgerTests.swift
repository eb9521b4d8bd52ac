import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import FileReceiving

@Suite("Space for files under way is promised once")
struct SpaceLedgerTests {
  /// Whether so much would be promised now; nothing is kept of it.
  private func takes(_ bytes: Int64, _ ledger: SpaceReservation.Ledger, free: Int64) -> Bool {
    var promise = SpaceReservation(ledger)
    return promise.take(bytes, free: free)
  }

  @Test func promises() {
    let ledger = SpaceReservation.Ledger()
    func first() {
      var promise = SpaceReservation(ledger)
      let isPromised = promise.take(60, free: 100)
      #expect(isPromised)
      #expect(ledger.promised == 60)
      #expect(!takes(41, ledger, free: 100))
      promise.use(50)
      // What was written is the disk's to count: 50 are free now, 10 of them promised.
      #expect(ledger.promised == 10)
      #expect(!takes(41, ledger, free: 50))
      #expect(takes(40, ledger, free: 50))
      promise.use(50)
      #expect(ledger.promised == 0, "more than was promised cannot be used up")
    }
    first()
    #expect(ledger.promised == 0)
  }

  /// The ledger looked and then added: files on two loops were both promised what one of them has to have,
  /// and the disk was full in the middle of both.
  @Test func onlyOneOfTwoGetsWhatIsThereForOne() async throws {
    try await offThePool { Self.contend() }
  }

  private static func contend() {
    let ledger = SpaceReservation.Ledger()
    let holders = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let granted = Atomic<Int>(0)
    // As many threads as there are processors at the least, each asking for more than half.
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<100_000 {
        var promise = SpaceReservation(ledger)
        guard promise.take(60, free: 100) else { continue }
        let now = holders.add(1, ordering: .sequentiallyConsistent).newValue
        most.max(now, ordering: .sequentiallyConsistent)
        granted.add(1, ordering: .relaxed)
        holders.subtract(1, ordering: .sequentiallyConsistent)
        _ = consume promise
      }
    }
    #expect(most.load(ordering: .sequentiallyConsistent) == 1)
    #expect(granted.load(ordering: .sequentiallyConsistent) > 0)
    #expect(ledger.promised == 0)
  }

  @Test func aFileThatEndsEarlyGivesBackTheRest() {
    let ledger = SpaceReservation.Ledger()
    var promise = SpaceReservation(ledger)
    let isPromised = promise.take(60, free: nil)
    #expect(isPromised)
    _ = consume promise
    #expect(ledger.promised == 0)
  }
}
