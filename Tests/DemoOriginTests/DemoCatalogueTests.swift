import Testing

@testable import DemoOrigin

/// What the standard catalogue promises `dlm demo`, computed and not timed.
@Suite("The standard catalogue shows what running side by side is worth")
struct DemoCatalogueTests {
  private let files = DemoFile.standard

  /// Seconds a file takes at 40 ms a request and 4 MB/s a connection.
  private func seconds(_ file: DemoFile) -> Double { 0.04 + Double(file.size) / 4_000_000 }

  private func makespan(lanes: Int) -> Double {
    var lanes = Array(repeating: 0.0, count: lanes)
    for file in files {
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
    #expect(files.allSatisfy { seconds($0) < 0.25 })
  }

  @Test func everyFileHasItsOwnPathNameAndBytes() {
    #expect(files.count == 36)
    #expect(Set(files.map(\.path)).count == files.count)
    #expect(Set(files.compactMap { $0.path.split(separator: "/").last }).count == files.count)
    #expect(Set(files.map(\.seed)).count == files.count)
    #expect(Set(files.map(\.entityTag)).count == files.count)
  }

  @Test func allTogetherAreSevenMegabytes() {
    #expect((7_000_000...8_000_000).contains(files.reduce(0) { $0 + $1.size }))
  }
}

@Suite("Any slice of a file can be made by itself")
struct DemoContentTests {
  private let content = DemoFile(path: "/a", size: 64, seed: 7)

  private static func file(seed: UInt64) -> DemoFile { DemoFile(path: "/a", size: 4096, seed: seed) }

  @Test(arguments: [0..<0, 0..<1, 0..<8, 3..<5, 5..<11, 7..<9, 8..<16, 1..<64, 63..<64, 40..<40])
  func sliceIsThatOfTheWhole(range: Range<Int>) {
    #expect(content.bytes(in: range) == Array(content.bytes(in: 0..<64)[range]))
  }

  @Test func startsFarInsideLikeAnywhere() {
    let far = 1 << 50
    #expect(content.bytes(in: far..<(far + 20)).suffix(9) == content.bytes(in: (far + 11)..<(far + 20))[...])
  }

  // A client's checksum list stays right only while the bytes of a seed stay the same.
  @Test func bytesOfASeedNeverChange() {
    let expected: [UInt8] = [0x7D, 0x3A, 0x36, 0x0F, 0x09, 0x0E, 0xB4, 0x7A, 0x72, 0xD7]
    #expect(Self.file(seed: 1).bytes(in: 0..<10) == expected)
  }

  @Test func seedsGiveDifferentBytesEvenShifted() {
    let one = Self.file(seed: 1).bytes(in: 0..<4096)
    let two = Self.file(seed: 2).bytes(in: 0..<8)
    #expect(!stride(from: 0, to: 4088, by: 8).contains { Array(one[$0..<($0 + 8)]) == two })
  }
}
