import DownloadModel
import TestSupport

@testable import dlm

/// What a list in a format comes to, as texts: `3: http://h/a size=5`, or `3! ` and the reason.
struct ReadList: Equatable {
  var entries: [String] = []
  /// What ended it before its end.
  var trouble: String?

  /// - Parameter sizes: of the blocks, in turn.
  init(_ text: [UInt8], in sizes: [Int] = [1 << 16], base: Address? = nil, by make: () throws -> any ListFormatReader) {
    do {
      var (reader, rest, turn) = (try make(), text[...], 0)
      while !rest.isEmpty {
        let block = Array(rest.prefix(max(1, sizes[turn % sizes.count])))
        rest = rest.dropFirst(block.count)
        turn += 1
        add(try reader.take(block, base: base))
      }
      add(try reader.take([], base: base))
    } catch {
      trouble = (error as? DownloadError)?.reason ?? "\(error)"
    }
  }

  private mutating func add(_ more: [ListEntry]) {
    for entry in more {
      if case .bad(.damaged(let why), _) = entry.content { trouble = trouble ?? why }
      if trouble == nil, let text = Self.text(entry) { entries.append(text) }
    }
  }

  private static func text(_ entry: ListEntry) -> String? {
    switch entry.content {
    case .blank: nil
    case .address(let address, let options):
      "\(entry.line): \(address.key)\((options?.text ?? "").split(separator: "\t").map { " " + $0 }.joined())"
        + (options?.headerLines.map { " header=\($0)" }.joined() ?? "")
    case .bad(let reason, let text): "\(entry.line)! \(reason) \(text)"
    }
  }

  /// Samples that are cut and whose bytes are changed at random.
  static func damaged(_ sample: [UInt8], seed: UInt64) -> [UInt8] {
    var (random, bytes) = (SeededGenerator(seed), sample)
    for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
    if Bool.random(using: &random), let place = bytes.indices.randomElement(using: &random) {
      bytes.insert(contentsOf: bytes[place...].prefix(Int.random(in: 0...60, using: &random)), at: place)
    }
    return bytes
  }
}
