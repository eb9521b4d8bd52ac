import StrategyComparing
import Testing

@Suite("Which file of two runs differs")
struct ContentManifestTests {
  struct Row: Sendable {
    /// Names with digests: "a1 b2".
    let run: String
    let reference: String
    let difference: ContentDifference?
  }

  private func manifest(_ text: String) -> ContentManifest {
    ContentManifest(
      files: text.split(separator: " ").map {
        .init(name: String($0.dropLast()), digest: String($0.suffix(1)))
      })
  }

  @Test(arguments: [
    Row(run: "", reference: "", difference: nil),
    Row(run: "a1 b2", reference: "a1 b2", difference: nil),
    Row(run: "b2 a1", reference: "a1 b2", difference: nil),
    Row(run: "a1 b3 c4", reference: "a1 b2 c5", difference: .bytes(name: "b")),
    Row(run: "a1 c3", reference: "a1 b2 c3", difference: .missing(name: "b")),
    Row(run: "a1", reference: "a1 b2", difference: .missing(name: "b")),
    Row(run: "a1 b2 c3", reference: "a1 c3", difference: .unexpected(name: "b")),
    Row(run: "a1", reference: "", difference: .unexpected(name: "a")),
    Row(run: "x1", reference: "y1", difference: .unexpected(name: "x")),
  ])
  func namesTheFirst(row: Row) {
    #expect(manifest(row.run).firstDifference(from: manifest(row.reference)) == row.difference)
  }
}
