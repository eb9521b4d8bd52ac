import Testing

@testable import TerminalProgress

@Suite("Drawing has its share of the processor, and no more")
struct FramePaceTests {
  @Test(arguments: [(0, 50), (400, 50), (1000, 50), (2000, 100), (5000, 250), (80_000, 250)])
  func pause(microseconds: Int, milliseconds: Double) {
    let pause = FramePace.pause(.milliseconds(50), after: .microseconds(microseconds))
    #expect(pause == .milliseconds(milliseconds))
  }

  @Test func aDisplayThatIsSlowerByItselfStaysSo() {
    #expect(FramePace.pause(.milliseconds(250), after: .milliseconds(1)) == .milliseconds(250))
    #expect(FramePace.pause(.seconds(1), after: .milliseconds(80)) == .seconds(1))
  }
}
