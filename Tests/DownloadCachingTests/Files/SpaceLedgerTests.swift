import Testing

@testable import DownloadCaching

@Suite("Space for files under way is promised once")
struct SpaceLedgerTests {
  /// Whether so much would be promised now; nothing is kept of it.
  private func takes(_ bytes: Int64, _ ledger: SpaceLedger, free: Int64) -> Bool {
    let promise = ledger.promise(bytes, free: free)
    return promise != nil
  }

  @Test func promises() {
    let ledger = SpaceLedger()
    func first() {
      guard var promise = ledger.promise(60, free: 100) else {
        Issue.record("60 of 100 are free")
        return
      }
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

  @Test func aFileThatEndsEarlyGivesBackTheRest() {
    let ledger = SpaceLedger()
    _ = ledger.promise(60, free: nil)
    #expect(ledger.promised == 0)
  }
}
