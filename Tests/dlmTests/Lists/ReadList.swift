import DownloadModel

@testable import dlm

/// What a list in a format comes to, as texts: `3: http://h/a size=5`, or `3! ` and the reason.
struct ReadList: Equatable {
  var entries: [String] = []
  /// What ended it before its end.
  var trouble: String?

  /// - Parameter sizes: of the blocks, in turn.
  init(_ text: [UInt8], in sizes: [Int] = [1 << 16], base: Address? = nil, by make: () throws -> any ListFormatReader) {
    do { try FormatReading.read(text, in: sizes, base: base, by: make) { add($0) } } catch {
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
}
