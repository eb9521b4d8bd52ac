import DownloadModel
import Synchronization

/// The URLs in any text, each once a line.
struct TextLines: LineRule {
  func take(_ text: String, base: Address?) -> [ListLine] {
    var found: [ListLine] = []
    var seen: Set<ByteText> = []
    var rest = text[...]
    // A single search, because a second one might go to the end of the line each time.
    while let start = rest.firstRange(of: "http")?.lowerBound {
      rest = rest[start...]
      guard rest.hasPrefix("http://") || rest.hasPrefix("https://") else {
        rest = rest.dropFirst(4)
        continue
      }
      let word = rest.prefix { !$0.isWhitespace && !"<>\"`{}|\\^“”«»".contains($0) }
      rest = rest[word.endIndex...]
      let address = ByteText(Self.withoutEnd(word))
      // Prose may contain words that only look like a URL; they are no error.
      if seen.insert(address).inserted, case let line = ListLine(address.text.utf8), line.address != nil {
        found.append(line)
      }
    }
    return found
  }

  /// Without punctuation that ends the surrounding sentence, or closes an earlier bracket.
  private static func withoutEnd(_ word: Substring) -> Substring {
    func surplus(_ closing: Character, _ opening: Character) -> Int {
      word.count { $0 == closing } - word.count { $0 == opening }
    }
    var brackets = [Character(")"): surplus(")", "("), "]": surplus("]", "[")]
    var word = word
    while let last = word.last {
      if let left = brackets[last], left > 0 {
        brackets[last] = left - 1
      } else if !".,;:!?'*’。，".contains(last) {
        break
      }
      word.removeLast()
    }
    return word
  }
}
