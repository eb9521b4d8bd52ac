import Testing

@testable import Comparing

@Suite("Which file of two runs differs")
struct ContentManifestTests {
  struct Row: Sendable {
    /// Positions in the list with digests: "1a 2b".
    let run: String
    let reference: String
    let difference: ContentManifest.Difference?
  }

  private func manifest(_ text: String) -> ContentManifest {
    ContentManifest(
      files: Dictionary(
        uniqueKeysWithValues: text.split(separator: " ").map {
          (Int($0.prefix(1)) ?? 0, ("http://h/\($0.prefix(1))/index", String($0.dropFirst())))
        }))
  }

  private static func address(_ id: Int) -> String { "http://h/\(id)/index" }

  @Test(arguments: [
    Row(run: "", reference: "", difference: nil),
    Row(run: "1a 2b", reference: "1a 2b", difference: nil),
    Row(run: "2b 1a", reference: "1a 2b", difference: nil),
    Row(run: "1a 2c 3d", reference: "1a 2b 3e", difference: .bytes(address: address(2))),
    Row(run: "1a 3c", reference: "1a 2b 3c", difference: .missing(address: address(2))),
    Row(run: "1a", reference: "1a 2b", difference: .missing(address: address(2))),
    Row(run: "1a 2b 3c", reference: "1a 3c", difference: .unexpected(address: address(2))),
    Row(run: "1a", reference: "", difference: .unexpected(address: address(1))),
    Row(run: "1a", reference: "2a", difference: .unexpected(address: address(1))),
  ])
  func namesTheFirst(row: Row) {
    #expect(manifest(row.run).firstDifference(from: manifest(row.reference)) == row.difference)
  }
}
