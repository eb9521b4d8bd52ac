@testable import FileReceiving
import DownloadCaching
import DownloadModel
import DownloadScheduling
import Testing

@testable import Downloads

@Suite("A configuration that cannot be used is refused before anything is opened")
struct ConfigurationTests {
  @Test(arguments: [
    "X-Key: secret\r\nX-Other: 1", "no line", ": secret", "X-Key: sec\u{0}ret", "Range : secret",
  ])
  func headerLines(line: String) {
    var configuration = DownloadConfiguration(directory: "files")
    configuration.headerLines = [line]
    let error = #expect(throws: DownloadError.self) { try configuration.transport() }
    #expect(error?.code == .configuration)
    #expect(error?.reason.contains("secret") == false, "a value may be a secret")
  }

  @Test func aProxyThatIsNone() {
    var configuration = DownloadConfiguration(directory: "files")
    configuration.proxy = "ftp://user:secret@proxy"
    let error = #expect(throws: DownloadError.self) { try configuration.transport() }
    #expect(error?.code == .configuration && error?.reason.contains("secret") == false)
  }

  @Test func checksumsWithALineThatIsNone() {
    var configuration = DownloadConfiguration(directory: "files")
    configuration.checksums = "what is this\n"
    let error = #expect(throws: DownloadError.self) { try configuration.cache(names: .init()) }
    #expect(error?.code == .configuration && error?.reason.contains("line 1") == true)
  }

  @Test func aFolderWithoutAName() {
    let configuration = DownloadConfiguration(directory: "")
    #expect(throws: DownloadError.self) { try configuration.cache(names: .init()) }
  }

  static let plans: [(Downloads.Schedule, widths: [Int], segments: Int)] = [
    (.sequential, [1], 1), (.asyncLet(width: 5), [3, 2], 4), (.taskGroup(width: 16), [8, 8], 4),
    (.taskGroup(width: 0), [1], 4), (.taskGroup(), [5, 5], 4), (.own(SequentialStrategy(), width: 6), [6], 4),
  ]

  @Test(arguments: plans)
  func whatAScheduleComesTo(schedule: Downloads.Schedule, widths: [Int], segments: Int) {
    var configuration = DownloadConfiguration(directory: "files")
    (configuration.jobs, configuration.segments, configuration.loops) = (10, 4, 2)
    let plan = configuration.plan(schedule, loops: 2)
    #expect(plan.widths == widths && plan.segments == segments)
    #expect((plan.adaptive != nil) == (schedule.width == nil))
  }

  static let fractions: [(bytes: Int64, total: Int64?, fraction: Double?)] = [
    (0, 10, 0), (5, 10, 0.5), (10, 10, 1), (11, 10, 1), (0, 0, 1), (5, nil, nil),
  ]

  @Test(arguments: fractions)
  func theFractionOfAFile(bytes: Int64, total: Int64?, fraction: Double?) {
    let progress = DownloadProgress(index: 0, item: "http://h/f", bytes: bytes, total: total)
    #expect(progress.fraction == fraction)
  }
}
