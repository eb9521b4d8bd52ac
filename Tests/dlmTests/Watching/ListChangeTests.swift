import DownloadModel
import Testing

@testable import dlm

@Suite("What a changed list means for its lines")
struct ListChangeTests {
  /// `a` is an address, `a=x` the same address under the name x, `a=5` with that size.
  private static func keys(_ text: String) throws -> [DownloadRequest.Key] {
    try text.split(separator: " ").map { word in
      let parts = word.split(separator: "=")
      return DownloadRequest.Key(
        address: try Address("http://h/\(parts[0])"),
        wishes: parts.count < 2
          ? nil : Int64(parts[1]).map { .init(size: $0) } ?? .init(outputName: String(parts[1])))
    }
  }

  private static func text(_ change: ListChange) -> String {
    let lines = change.lines.map { line in
      switch line {
      case .kept(let place): "\(place)"
      case .restarted(let place): "~\(place)"
      case .started: "+"
      }
    }
    return (lines + change.removed.map { "-\($0)" }).joined(separator: " ")
  }

  @Test(arguments: [
    ("", "", ""), ("", "a b", "+ +"), ("a b", "", "-0 -1"), ("a b", "a b", "0 1"), ("a b", "a b c", "0 1 +"),
    ("a b c", "a c", "0 2 -1"), ("a b", "b a", "1 0"), ("a b", "a c", "0 + -1"),
    // Equal lines: the first ones stay.
    ("a a", "a", "0 -1"), ("a", "a a", "0 +"), ("a a b", "b a", "2 0 -1"),
    // The same address, asked for in another way.
    ("a b", "a=x b", "~0 1"), ("a=x", "a", "~0"), ("a a=x", "a=x", "1 -0"), ("a a=x", "a=y a", "~1 0"),
    ("a=1 b", "a=2 b", "~0 1"), ("a=1", "a", "~0"), ("a=1", "a=1", "0"),
    ("a", "a=x a", "+ 0"), ("a a", "a=x a=y", "~0 ~1"), ("a", "a=x a=y", "~0 +"),
  ])
  func changes(old: String, new: String, change: String) throws {
    let found = ListChange(from: try Self.keys(old), to: try Self.keys(new))
    #expect(Self.text(found) == change)
    #expect(found.restarted == change.count { $0 == "~" } && found.started == change.count { $0 == "+" })
  }
}
