import Testing

@testable import DemoOrigin

/// What the standard catalogue promises `dlm demo`, computed and not timed.
@Suite("The standard catalogue shows what running side by side is worth")
struct DemoCatalogueTests {
  private let catalogue = DemoCatalogue.standard

  /// Seconds a file takes at 40 ms a request and 4 MB/s a connection.
  private func seconds(_ file: DemoFile) -> Double { 0.04 + Double(file.size) / 4_000_000 }

  private func makespan(lanes: Int) -> Double {
    var lanes = Array(repeating: 0.0, count: lanes)
    for file in catalogue.files {
      lanes.sort()
      lanes[0] += seconds(file)
    }
    return lanes.max() ?? 0
  }

  @Test func oneAfterTheOtherTakesThreeToFourSeconds() {
    #expect((3.0...4.0).contains(makespan(lanes: 1)))
  }

  @Test func sixteenAtOnceTakeATenthOfThat() {
    #expect(makespan(lanes: 16) < 0.35)
    #expect(makespan(lanes: 1) > 10 * makespan(lanes: 16))
  }

  @Test func noFileTakesAQuarterOfASecond() {
    #expect(catalogue.files.allSatisfy { seconds($0) < 0.25 })
  }

  @Test func everyFileHasItsOwnPathNameAndBytes() {
    let files = catalogue.files
    #expect(files.count == 36)
    #expect(Set(files.map(\.path)).count == files.count)
    #expect(Set(files.compactMap { $0.path.split(separator: "/").last }).count == files.count)
    #expect(Set(files.map(\.seed)).count == files.count)
    #expect(Set(files.map(\.entityTag)).count == files.count)
  }

  @Test func totalIsTheSumOfTheSizes() {
    let files = [DemoFile(path: "/a", size: 3, seed: 1), DemoFile(path: "/b", size: 4, seed: 2)]
    #expect(DemoCatalogue(files: files).totalBytes == 7)
    #expect((7_000_000...8_000_000).contains(catalogue.totalBytes))
  }
}
