import CMarkup
import DownloadModel

/// Parses XML or HTML incrementally with libxml2: only predefined entities, no external resources, and a bounded depth.
final class MarkupParser {
  enum Event {
    case start(Substring, attributes: [String: String])
    case end(Substring)
    case text(String)
  }

  private let parser: UnsafeMutablePointer<dlm_markup>
  /// Blanks and equals signs since the library's last event. It buffers an element until its end arrives, and then
  /// compares each of its attributes with all others.
  private var marks = 0
  /// False in the texts of a page, which are also buffered: after a `>`.
  private var isInTag = true

  private static let mostMarks = 1 << 16
  private static let pieceLength = 4096

  /// - Throws: if libxml2 is not installed.
  init(isHTML: Bool) throws(Rejection.NoList) {
    guard let parser = dlm_markup_new(isHTML ? 1 : 0) else { throw .noLibrary("libxml2", for: "XML or HTML") }
    self.parser = parser
  }

  deinit { dlm_markup_free(parser) }

  /// - Parameters:
  ///   - block: an empty one is the end.
  ///   - event: called for each part, in order, with its line.
  /// - Returns: an error in the document from there on; `nil` for none.
  func take(_ block: [UInt8], _ event: (Event, _ line: Int) throws -> Void) rethrows -> String? {
    if block.isEmpty { return try take(piece: block, event) }
    for start in stride(from: 0, to: block.count, by: Self.pieceLength) {
      if marks > Self.mostMarks { return "an element has too many attributes" }
      let piece = Array(block[start...].prefix(Self.pieceLength))
      let told = parser.pointee.told
      if let trouble = try take(piece: piece, event) { return trouble }
      let isHeld = parser.pointee.told == told
      let bracket = piece.last { "<>".utf8.contains($0) }
      if parser.pointee.is_html != 0, let bracket { isInTag = bracket == UInt8(ascii: "<") }
      marks = isHeld && isInTag ? marks + piece.count { $0 <= 0x20 || $0 == .equals } : 0
    }
    return nil
  }

  private func take(piece: [UInt8], _ event: (Event, _ line: Int) throws -> Void) rethrows -> String? {
    let trouble = piece.withUnsafeBytes { dlm_markup_take(parser, $0.baseAddress, $0.count) }
    var rest = UnsafeRawBufferPointer(start: parser.pointee.bytes, count: parser.pointee.count)[...]
    // Each record is complete, because the shim writes it in one call.
    while rest.count >= 9 {
      func number(_ place: Int) -> Int {
        Int(rest.base.loadUnaligned(fromByteOffset: rest.startIndex + place, as: UInt32.self))
      }
      let kind = rest[rest.startIndex]
      let line = number(1)
      let length = number(5)
      let content = rest.dropFirst(9).prefix(length)
      rest = rest.dropFirst(9 + length)
      switch Unicode.Scalar(kind) {
      case "t": try event(.text(String(utf8: content)), line)
      case ">": try event(.end(Self.name(content.dropLast())), line)
      default:
        let words = content.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        let values = words.dropFirst().map { String(utf8: $0) }
        let pairs = stride(from: 0, to: values.count - 1, by: 2).map { (values[$0].lowercased(), values[$0 + 1]) }
        try event(.start(Self.name(words.first ?? content), attributes: Dictionary(pairs) { first, _ in first }), line)
      }
    }
    return trouble.map { String(cString: $0).filter { $0 != "\n" } }
  }

  /// With its namespace's prefix.
  private static func name(_ bytes: some Collection<UInt8>) -> Substring {
    String(utf8: bytes).lowercased()[...]
  }
}
