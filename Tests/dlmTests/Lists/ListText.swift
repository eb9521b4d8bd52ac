import DownloadModel

@testable import dlm

/// What a reader makes of a text, in words.
struct ListText {
  var form = ListForm()
  var name = "list"
  var base: Address?

  /// - Parameter size: of a block.
  func entries(_ text: [UInt8], blocks size: Int = .max) throws -> [String] {
    var words: [String] = []
    try FormatReading.read(text, in: [size], base: base, by: { try form.reader(of: text, named: name) }) { entries in
      for entry in entries where words.last?.contains(" damaged: ") != true {
        switch entry.content {
        case .blank: break
        case .address(let address, let options):
          let options = options?.text.replacing("\t", with: " ") ?? ""
          words.append("\(entry.line) \(address.key)\(options)")
        case .bad(.damaged(let why), _): words.append("\(entry.line) damaged: \(why)")
        case .bad(let reason, let text): words.append("\(entry.line) bad \(text): \(reason)")
        }
      }
    }
    return words
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
}
