import Testing

@testable import DownloadScheduling

/// A thousand slow files that could have been split, if their host had taken more connections, were each looked
/// at four times a second by a timer of its own. That took a sixth of a core, and receiving a fiftieth.
@Suite("All large files of a run are looked at together")
struct FilePulseTests {
  @Test(arguments: [
    (0, 0, 250), (124, 0, 250), (126, 0, 500), (249, 3, 500), (250, 64, 500), (1000, 64, 1250),
    (1000, 65, 1500),
    (999, 128, 1500), (0, 1000, 4000), (2100, 1000, 8000),
  ])
  func beat(now: Int, files: Int, then: Int) {
    #expect(FilePulse.beat(after: .milliseconds(now), files: files) == .milliseconds(then))
  }

  @Test("two that ask at different times go on together, half a beat later at the least")
  func together() {
    for now in stride(from: 0, through: 4000, by: 7) {
      let next = FilePulse.beat(after: .milliseconds(now), files: 200)
      #expect(next >= .milliseconds(now + 500) && next <= .milliseconds(now + 1500))
      #expect((next / .seconds(1)).truncatingRemainder(dividingBy: 1) == 0)
    }
  }
}
