import DownloadModel
import TestSupport
import Testing

@testable import dlm

/// What a reader of a format makes of a text, for a comparison.
enum FormatReading {
  /// - Parameter sizes: of the blocks, in turn.
  /// - Throws: as the reader and `take` do.
  static func read(
    _ text: [UInt8], in sizes: [Int], base: Address?, by make: () throws -> any ListFormatReader,
    _ take: ([ListEntry]) throws -> Void
  ) throws {
    var (reader, rest, turn) = (try make(), text[...], 0)
    while !rest.isEmpty {
      let block = Array(rest.prefix(max(1, sizes[turn % sizes.count])))
      (rest, turn) = (rest.dropFirst(block.count), turn + 1)
      try take(try reader.take(block, base: base))
    }
    try take(try reader.take([], base: base))
  }

  /// A sample that is cut, and whose bytes are changed at random.
  static func damaged(_ sample: [UInt8], by chance: inout some RandomNumberGenerator) -> [UInt8] {
    var bytes = sample
    for _ in 0..<Int.random(in: 0...8, using: &chance) where !bytes.isEmpty {
      let place = Int.random(in: bytes.indices, using: &chance)
      switch Int.random(in: 0..<5, using: &chance) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &chance)
      case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...40, using: &chance)))
      case 2: bytes.insert(contentsOf: bytes[place...].prefix(Int.random(in: 0...60, using: &chance)), at: place)
      case 3: bytes.removeSubrange(place...)
      default: bytes.insert(Array("\t =:'/%\n".utf8).randomElement(using: &chance) ?? 0, at: place)
      }
    }
    return bytes
  }

  /// - Parameter size: of the blocks; nil for one block.
  /// - Throws: as the reader does.
  static func entries(
    of text: [UInt8], _ form: ListForm, named name: String = "list", blocks size: Int? = nil
  ) throws -> [String] {
    try read(text, form, named: name, blocks: size).map(describe)
  }

  static func read(
    _ text: [UInt8], _ form: ListForm, named name: String = "list", blocks size: Int? = nil
  ) throws -> [ListEntry] {
    var entries: [ListEntry] = []
    try read(text, in: [size ?? .max], base: form.base, by: { try form.reader(of: text, named: name) }) {
      entries += $0
    }
    return entries
  }

  private static func describe(_ entry: ListEntry) -> String {
    switch entry.content {
    case .blank: "\(entry.line) blank"
    case .address(let address, let options):
      "\(address.key)\(options?.text ?? "")"
        + (options?.headerLines ?? []).map { "\theader=\($0)" }.joined()
    case .bad(let reason, let text): "\(entry.line): \(reason) \(text)"
    }
  }

  /// Blocks cut anywhere give the same entries.
  static func expectAlike(_ text: String, _ form: ListForm, _ location: SourceLocation = #_sourceLocation) throws {
    let bytes = Array(text.utf8)
    let whole = try entries(of: bytes, form)
    for size in 1...max(1, min(bytes.count, 64)) {
      #expect(try entries(of: bytes, form, blocks: size) == whole, "\(size)", sourceLocation: location)
    }
  }

  /// What is damaged is read to an end, whatever comes of it.
  static func fuzz(_ text: String, _ form: ListForm, rounds: Int = 500) {
    var chance = SplitMix64(seed: 28)
    for _ in 0..<rounds {
      let bytes = damaged(Array(text.utf8), by: &chance)
      // That it throws is one of its ends.
      let entries = try? FormatReading.read(bytes, form, blocks: Int.random(in: 1...bytes.count + 1, using: &chance))
      #expect((entries?.count ?? 0) <= 2 * bytes.count)
    }
  }
}
