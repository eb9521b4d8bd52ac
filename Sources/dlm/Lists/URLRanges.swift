import DownloadModel

/// The URLs of a text with sets `{a,b}` and ranges `[001-100]`, `[a-z]`, `[0-100:10]`, as in curl (`--glob`): the last
/// one changes fastest, and a backslash makes a bracket literal. They are made one at a time.
struct URLRanges {
  static let most = 1_000_000

  private struct Part {
    let count: Int
    let text: @Sendable (Int) -> [UInt8]

    static func texts(_ texts: [[UInt8]]) -> Part { Part(count: texts.count) { texts[$0] } }
  }

  private var parts: [Part] = []
  private(set) var count = 1
  private var index = 0

  /// - Parameter line: options after a tab are kept.
  /// - Returns: `nil` for a comment, and for a line without brackets.
  /// - Throws: if a bracket starts no set or range, or there are too many URLs.
  init?(in line: [UInt8]) throws(Rejection.Reason) {
    let text = line.trimmed(\.isBlank)
    var rest = text.prefix { $0 != 0x09 }
    let options = text[rest.endIndex...]
    if rest.first == .numberSign || !rest.contains(where: { "{[".utf8.contains($0) }) { return nil }
    var plain: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == .backslash, let next = rest.first, "{}[]".utf8.contains(next) {
        plain.append(next)
        rest.removeFirst()
        continue
      }
      guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") && !Self.isHost(rest) else {
        plain.append(byte)
        continue
      }
      // In ASCII, a closing bracket is two after its opening one.
      guard let end = rest.firstIndex(of: byte + 2) else { throw .row("a bracket is never closed") }
      parts.append(.texts([plain]))
      plain = []
      try add(rest[..<end], isSet: byte == UInt8(ascii: "{"))
      rest = rest[(end + 1)...]
    }
    parts.append(.texts([plain + options]))
  }

  private mutating func add(_ content: ArraySlice<UInt8>, isSet: Bool) throws(Rejection.Reason) {
    guard let part = isSet ? Self.set(content) : Self.range(content) else {
      throw .row("\(RowFields.shown(content)) is no {a,b}, [1-100], [a-z] or [0-100:10]; \\[ is a plain bracket")
    }
    parts.append(part)
    let (product, isTooMuch) = count.multipliedReportingOverflow(by: part.count)
    if isTooMuch || product > Self.most { throw .row("it stands for more than \(Self.most) URLs") }
    count = product
  }

  /// `[::1]`
  private static func isHost(_ text: ArraySlice<UInt8>) -> Bool {
    let inside = text.prefix(64).prefix { $0 != UInt8(ascii: "]") }
    return inside.count { $0 == .colon } > 1 && !inside.contains(.dash)
  }

  private static func set(_ content: ArraySlice<UInt8>) -> Part? {
    if content.isEmpty || content.contains(UInt8(ascii: "{")) { return nil }
    return .texts(content.split(separator: .comma, omittingEmptySubsequences: false).map(Array.init))
  }

  private static func range(_ content: ArraySlice<UInt8>) -> Part? {
    let words = String(utf8: content).split(separator: ":", omittingEmptySubsequences: false)
    let ends = (words.first ?? "").split(separator: "-", omittingEmptySubsequences: false)
    let step = words.count < 2 ? 1 : number(words[1]) ?? 0
    guard words.count <= 2, ends.count == 2, step > 0 else { return nil }
    let letters = ends.compactMap { $0.utf8.count == 1 ? $0.utf8.first : nil }
    let isOfLetters = letters.count == 2 && letters.allSatisfy { $0.isLetterOrDigit && $0 > UInt8(ascii: "9") }
    let numbers = isOfLetters ? letters.map(Int.init) : ends.compactMap(number)
    guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
    let width = ends[0].first == "0" ? ends[0].utf8.count : 0
    return Part(count: (numbers[1] - numbers[0]) / step + 1) { index in
      let number = numbers[0] + index * step
      if isOfLetters { return [UInt8(number)] }
      let digits = Array("\(number)".utf8)
      return Array(repeating: UInt8(ascii: "0"), count: max(0, width - digits.count)) + digits
    }
  }

  /// Bounded, because calculations follow.
  private static func number(_ text: Substring) -> Int? {
    text.utf8.count <= 15 && text.utf8.allSatisfy(\.isDigit) ? Int(text) : nil
  }

  mutating func next() -> [UInt8]? {
    guard index < count else { return nil }
    var rest = index
    var text = [[UInt8]]()
    for part in parts.reversed() {
      text.append(part.text(rest % part.count))
      rest /= part.count
    }
    index += 1
    return Array(text.reversed().joined())
  }
}
