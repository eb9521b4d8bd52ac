import Testing

@testable import DownloadCaching

@Suite("Space for files under way is promised once")
struct SpaceLedgerTests {
  private func has(_ promise: consuming SpacePromise?) -> Bool { promise != nil }

  @Test func promises() {
    let ledger = SpaceLedger()
    func first() {
      guard var promise = ledger.promise(60, free: 100) else {
        Issue.record("60 of 100 are free")
        return
      }
      #expect(ledger.promised == 60)
      #expect(!has(ledger.promise(41, free: 100)))
      promise.use(50)
      // What was written is the disk's to count: 50 are free now, 10 of them promised.
      #expect(ledger.promised == 10)
      #expect(!has(ledger.promise(41, free: 50)))
      #expect(has(ledger.promise(40, free: 50)))
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
