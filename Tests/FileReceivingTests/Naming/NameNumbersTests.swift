import DownloadModel
import TestSupport
import Testing

@testable import FileReceiving

/// Two runs of sixty addresses that all end in README.md once gave two mappings, since names were given in
/// the order of the answers.
@Suite("Names that several addresses give are numbered in the list's order")
struct NameNumbersTests {
  private func places(_ addresses: [String]) throws -> [NameNumbers.Place] {
    let numbers = NameNumbers()
    return try addresses.map { numbers.next(DownloadRequest(id: 0, address: try Address($0))) }
  }

  @Test func inTheOrderOfTheList() throws {
    let list = [
      "http://a/x", "http://b/x", "http://a/y", "http://a/x?1", "http://c/%78", "http://a/x", "http://b/x",
      "http://a/x?1", "http://u:p@a/x", "http://a/", "http://b/index.html", "http://a/y",
    ]
    let places = try places(list)
    #expect(places.map(\.number) == [0, 1, 0, 2, 3, 0, 1, 2, 0, 0, 1, 0])
    let repeats = places.indices.filter { places[$0].isRepeat }
    // A login makes no other file (HTTP rule 30).
    #expect(repeats == [5, 6, 7, 8, 11])
  }

  /// Sixteen bits of each first address were kept once. Of ten thousand addresses of fifty names one had those of the
  /// first with its name, and passed for that: without the cache, and with the same bytes, it got no file, and a list
  /// that was watched or added to dropped it unasked.
  @Test func noAddressIsTakenForTheFirstOfItsName() throws {
    let pair = [0, 14].map { "http://127.0.0.1:35369/named/download-14?id=\($0)" }
    #expect(try places(pair).map(\.isRepeat) == [false, false])
    let numbers = NameNumbers()
    for index in 0..<200_000 {
      let place = numbers.next(DownloadRequest(id: index, address: try Address("http://host/x?\(index)")))
      guard place == NameNumbers.Place(number: index, isRepeat: false) else { return #expect(Bool(false), "\(index)") }
    }
  }

  @Test func theHighestNumberOfANameIsKnown() throws {
    let numbers = NameNumbers()
    for index in 0..<60 {
      _ = numbers.next(DownloadRequest(id: index, address: try Address("http://host/README.md?\(index)")))
    }
    #expect(numbers.last(of: "README.md", in: nil) == 59)
    #expect(numbers.last(of: "README.md", in: "d") == 0)
    #expect(numbers.last(of: "other", in: nil) == 0)
  }

  @Test func namesInOtherFoldersAreOthers() throws {
    let numbers = NameNumbers()
    func next(_ address: String, _ folder: String?, _ name: String? = nil) throws -> NameNumbers.Place {
      numbers.next(
        DownloadRequest(id: 0, address: try Address(address), wishes: .init(outputName: name, folder: folder)))
    }
    let places = [
      try next("http://a/x", nil), try next("http://b/x", "d"), try next("http://b/x", nil),
      try next("http://c/x", "d"),
      try next("http://b/x", "d"), try next("http://e/y", "d", "x"), try next("http://e/x", nil, "z"),
      try next("http://f/z", nil),
    ]
    #expect(places.map(\.number) == [0, 0, 1, 1, 0, 2, 0, 1])
    #expect(places.map(\.isRepeat) == [false, false, false, false, true, false, false, false])
  }

  /// A filter of fewer bits once gave a list of two hundred thousand files a few needless numbers. Here a name is never
  /// lost, none of a million is taken for another, and together they take what they may.
  @Test func noNameIsTakenForAnother() async throws {
    let (wrong, bytes) = try await offThePool { () -> (Int?, Int) in
      var table = NameNumbers.Table()
      for isRepeat in [false, true] {
        var random = SplitMix64(seed: 5)
        for index in 0..<1_000_000 {
          let place = table.next(name: random.next(), address: random.next())
          if place != NameNumbers.Place(number: 0, isRepeat: isRepeat) { return (index, 0) }
        }
      }
      let leaves = Mirror(reflecting: table).descendant("leaves") as? [[UInt16]]
      // 48 bytes are of the array and of its allocation, which may be rounded to pages.
      return (nil, leaves?.reduce(0) { $0 + 2 * $1.capacity + 48 } ?? .max)
    }
    #expect(wrong == nil)
    #expect(bytes < 11_000_000)
  }

  /// Processes of different builds tell each other by it what they have under way.
  @Test(
    arguments: [
      ("", 0xF52A15E9A9B5E89B), ("http://host/x?1", 0xA3D4F542EE4D06DB), ("日本.txt", 0x58D5D6C7063D588F),
    ] as [(String, UInt64)])
  func aHashIsTheSameEverywhere(text: String, expected: UInt64) {
    #expect(Hash.of(text.utf8) == expected)
    #expect(Hash.of(Array(text.utf8).lazy.map { $0 }) == expected)
  }

  @Test func whatIsKeptIsBounded() {
    var table = NameNumbers.Table(limit: 10)
    let places = (0..<40).map { table.next(name: 1, address: Hash.of("\($0)".utf8)) }
    #expect(places.map(\.number) == Array(0..<40))
    // A line that comes again is known while there was room for it, and gets a number of its own after that.
    #expect(table.next(name: 1, address: Hash.of("7".utf8)) == NameNumbers.Place(number: 7, isRepeat: true))
    #expect(
      table.next(name: 1, address: Hash.of("33".utf8)) == NameNumbers.Place(number: 40, isRepeat: false))
  }
}
