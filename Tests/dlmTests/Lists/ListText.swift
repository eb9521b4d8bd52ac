import DownloadModel
import TestSupport

@testable import dlm

/// What a reader makes of a text, in words.
struct ListText {
  var form = ListForm()
  var name = "list"
  var base: Address?

  /// - Parameter size: of a block.
  func entries(_ text: [UInt8], blocks size: Int = .max) throws -> [String] {
    var reader = try form.reader(of: text, named: name)
    var words: [String] = []
    var rest = text[...]
    while true {
      let block = Array(rest.prefix(size))
      rest = rest.dropFirst(block.count)
      for entry in try reader.take(block, base: base) {
        switch entry.content {
        case .blank: break
        case .address(let address, let options):
          let options = options?.text.replacing("\t", with: " ") ?? ""
          words.append("\(entry.line) \(address.key)\(options)")
        case .bad(.damaged(let why), _): return words + ["\(entry.line) damaged: \(why)"]
        case .bad(let reason, let text): words.append("\(entry.line) bad \(text): \(reason)")
        }
      }
      if block.isEmpty { return words }
    }
  }

  func entries(_ text: String) throws -> [String] { try entries(Array(text.utf8)) }

  func said(_ text: String) throws -> String? {
    var reader = try form.reader(of: Array(text.utf8), named: name)
    _ = try reader.take(Array(text.utf8), base: base)
    return reader.said
  }

  /// In two blocks, divided at each byte, and byte by byte: always the same. The last one that was not, else nil.
  func sizeOfOtherResult(_ text: [UInt8]) throws -> Int? {
    let whole = try entries(text)
    var other: Int?
    for size in 1...max(1, text.count) where try entries(text, blocks: size) != whole { other = size }
    return other
  }

  /// Seeded cuts and flips of a sample: read to the end, or refused.
  func readDamaged(_ sample: [UInt8], rounds: Int = 400) {
    var random = SeededGenerator(5)
    for _ in 0..<rounds {
      var text = sample
      for _ in 0..<Int.random(in: 1...4, using: &random) where !text.isEmpty {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: text[place] = .random(in: .min ... .max, using: &random)
        case 1: text.removeSubrange(place..<min(text.count, place + 9))
        default: text.insert(contentsOf: text[place...].prefix(30), at: place)
        }
      }
      _ = try? entries(text, blocks: Int.random(in: 1...64, using: &random))
    }
  }
}
