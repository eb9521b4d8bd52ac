import Testing

@testable import dlm

@Suite("When a list that changes is read")
struct ListStillnessTests {
  private func after(_ notices: (ListStillness.Notice, Double)...) -> ListStillness {
    var stillness = ListStillness()
    for (notice, time) in notices { stillness.note(notice, at: .milliseconds(Int(time * 1000))) }
    return stillness
  }

  @Test func nothingIsReadWithoutAChange() {
    #expect(ListStillness().step(at: .milliseconds(100000)) == .rest)
  }

  @Test func aClosedListIsBelievedWhenItIsStill() {
    let stillness = after((.written, 1), (.closed, 1.1))
    #expect(stillness.step(at: .milliseconds(1200)) == .wait(until: .milliseconds(1300)))
    #expect(stillness.step(at: .milliseconds(1300)) == .look(believesLosses: true))
  }

  /// Half a list must not cancel the other half.
  @Test func anOpenListIsReadForWhatIsNewOnly() {
    var stillness = after((.written, 1))
    #expect(stillness.step(at: .milliseconds(1200)) == .look(believesLosses: false))
    stillness.looked(believesLosses: false)
    #expect(stillness.step(at: .milliseconds(5000)) == .wait(until: .milliseconds(31000)))
    stillness.note(.written, at: .milliseconds(6000))
    #expect(stillness.step(at: .milliseconds(6200)) == .look(believesLosses: false))
    stillness.looked(believesLosses: false)
    #expect(stillness.step(at: .milliseconds(36000)) == .look(believesLosses: true))
    stillness.note(.closed, at: .milliseconds(7000))
    #expect(stillness.step(at: .milliseconds(7200)) == .look(believesLosses: true))
    stillness.looked(believesLosses: true)
    #expect(stillness.step(at: .milliseconds(100000)) == .rest)
  }

  @Test func aListThatIsWrittenWithoutAPauseIsReadNowAndThen() {
    var stillness = after((.written, 1), (.written, 1.1), (.written, 1.9))
    #expect(stillness.step(at: .milliseconds(1950)) == .wait(until: .milliseconds(2000)))
    stillness.note(.written, at: .milliseconds(2000))
    #expect(stillness.step(at: .milliseconds(2000)) == .look(believesLosses: false))
    stillness.looked(believesLosses: false)
    stillness.note(.written, at: .milliseconds(2100))
    #expect(stillness.step(at: .milliseconds(2200)) == .wait(until: .milliseconds(2300)))
  }

  /// A network's file system tells of nothing: it must have been still for longer.
  @Test func whereNobodyTells() {
    var stillness = after((.differs, 1))
    #expect(stillness.step(at: .milliseconds(1200)) == .look(believesLosses: false))
    stillness.looked(believesLosses: false)
    #expect(stillness.step(at: .milliseconds(6000)) == .look(believesLosses: true))
    // What a look finds besides says nothing of who writes.
    #expect(after((.closed, 1), (.differs, 1.1)).step(at: .milliseconds(1300)) == .look(believesLosses: true))
    #expect(
      after((.written, 1), (.differs, 1.1)).step(at: .milliseconds(7000)) == .look(believesLosses: false))
    #expect(after((.differs, 1), (.closed, 1.1)).step(at: .milliseconds(1300)) == .look(believesLosses: true))
  }
}
