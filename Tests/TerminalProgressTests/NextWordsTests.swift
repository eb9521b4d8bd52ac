import DownloadModel
import Testing

@testable import TerminalProgress

@Suite("What is done about a failure is said in one way, and how often it will be")
struct NextWordsTests {
  private let second = NextAttempt(attempt: 3, retry: 2, of: 5, delay: .seconds(4))

  @Test func sentences() {
    #expect(NextWords.text("status 503", second) == "status 503; again in 4.0 s, 2 of 5")
    #expect(NextWords.text("", second) == "again in 4.0 s, 2 of 5")
    let unbounded = NextAttempt(attempt: 3, retry: 2, of: nil, delay: .milliseconds(40))
    #expect(NextWords.text("x", unbounded) == "x; again in 40 ms")
    let atOnce = NextAttempt(attempt: 2, retry: 1, of: 10, delay: .zero)
    #expect(NextWords.text("x", atOnce) == "x; again at once, 1 of 10")
  }

  @Test(
    arguments: [
      (20, "again in 0:03 (2/5)"), (19, "again in 0:03 (2/5)"), (18, "again in 0:03"), (13, "again in 0:03"),
      (12, "again 0:03"), (10, "again 0:03"), (4, "0:03"),
    ])
  func columns(width: Int, text: String) {
    #expect(NextWords.countdown(second, .seconds(2.5), width: width) == text)
  }
}
