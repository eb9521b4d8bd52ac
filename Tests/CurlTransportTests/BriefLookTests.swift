import Testing

@testable import CurlTransport

@Suite("A server that answers at once is not slept for; one that does not is hardly ever looked at")
struct BriefLookTests {
  private func looks(_ answers: some Sequence<Bool>) -> Int {
    var looking = BriefLook()
    var looks = 0
    for isFast in answers where looking.begins() {
      looks += 1
      looking.ended(hasFound: isFast)
    }
    return looks
  }

  @Test func numberOfLooks() {
    #expect(looks(repeatElement(true, count: 1000)) == 1000)
    #expect(looks(repeatElement(false, count: 1)) == 1)
    #expect(looks(repeatElement(false, count: 10_000)) == 18)
    // One slow answer among fast ones costs two sleeps.
    #expect(looks((0..<1000).map { $0 != 500 }) == 998)
  }

  /// However long it was slow, the first fast answer that is seen is enough.
  @Test func isFastAgain() {
    let slow = repeatElement(false, count: 5000)
    let looksAtFast = looks(Array(slow) + repeatElement(true, count: 2000)) - looks(slow)
    #expect(looksAtFast >= 2000 - 1024)
  }
}
