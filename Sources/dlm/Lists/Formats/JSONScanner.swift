import DownloadModel

/// Reads JSON (RFC 8259) a block at a time: reports starts and ends, and keeps only the path and one text. A value may
/// be followed by another, as in JSON lines.
struct JSONScanner {
  enum Event { case began, ended, text, number, literal }

  struct Damage: Error { let why: String }

  struct Level {
    let isObject: Bool
    /// The position of the member's name, or of `[]`, in `steps`.
    var step: Range<Int>
    var count = 0
  }

  /// Counted from 1.
  private(set) var line = 1
  /// Includes a level that has just started, and excludes one that has ended.
  private(set) var path: [Level] = []
  /// In one array, so that unused names cost no memory of their own.
  private var steps: [UInt8] = []
  /// The last text, name or number; at most one byte more than ListLine's limit.
  private(set) var text: [UInt8] = []
  /// Whether a value ended in the line where it started: then a damaged line does not affect the next.
  private(set) var isLines = false
  private var state = State.value
  private var isName = false
  private var isEscaped = false
  private var startLine = 1

  private enum State { case value, name, colon, after, text, escape, word, skipped }

  private static let depth = 128
  private static let noJSON = Damage(why: "this is no JSON")
  private static let literals = ["true", "false", "null"].map { Array($0.utf8) }
  private static let every = Array("*".utf8)

  /// - Returns: `nil` at the end of the block.
  /// - Throws: for invalid JSON; `index` is then not behind the end of its line.
  mutating func next(in block: [UInt8], at index: inout Int) throws(Damage) -> Event? {
    while index < block.count {
      let byte = block[index]
      switch state {
      case .text where byte != .quote && byte != .backslash:
        let run = block[index...].prefix { $0 != .quote && $0 != .backslash && $0 >= 0x20 }
        if run.isEmpty { throw Damage(why: "a text has a control character") }
        text.keep(run)
        index = run.endIndex
      case .word:
        let run = block[index...].prefix { $0.isLetterOrDigit || "+-.".utf8.contains($0) }
        text.keep(run)
        index = run.endIndex
        if index < block.count { return try word() }
      case _ where byte == 0x0A && isLines && !path.isEmpty && state != .skipped:
        throw Damage(why: "the line ends within a value")
      default:
        index += 1
        if byte == 0x0A { line += 1 }
        if let event = try take(byte) { return event }
      }
    }
    return nil
  }

  /// Called at the end of the last block.
  func finish() throws(Damage) { if !path.isEmpty || state == .text { throw Damage(why: "it ends within a value") } }

  /// Continues with the next line.
  mutating func recover() {
    path = []
    steps = []
    state = .skipped
  }

  private func step(_ level: Level) -> ArraySlice<UInt8> { steps[level.step] }

  /// Of the levels of the path: members' names, and `[]`.
  var names: [[UInt8]] { path.map { Array(step($0)) } }

  /// Whether a path, in which `*` is any step, leads to a level.
  /// - Parameter depth: the number of levels above it.
  func isAt(_ wanted: [[UInt8]], _ depth: Int) -> Bool {
    // From the end, where paths differ.
    wanted.count == depth
      && wanted.indices.reversed().allSatisfy { wanted[$0] == Self.every || step(path[$0]).elementsEqual(wanted[$0]) }
  }

  /// `features[3].assets.data`
  var place: String {
    let words = path.map { $0.isObject ? ".\(RowFields.shown(step($0).prefix(64)))" : "[\(max(0, $0.count - 1))]" }
    return String(words.joined().drop { $0 == "." })
  }

  private mutating func take(_ byte: UInt8) throws(Damage) -> Event? {
    let isObject = path.last?.isObject
    let isFirst = path.last?.count == 0
    let sign = Unicode.Scalar(byte)
    switch (state, sign) {
    case (.skipped, _): if sign == "\n" { state = .value }
    case (.text, "\""): return try endText()
    case (.text, _), (.escape, _):
      text.keep([byte])
      state = state == .text ? .escape : .text
      isEscaped = true
    case (_, " "), (_, "\t"), (_, "\n"), (_, "\r"): break
    // A byte-order mark.
    case (.value, "\u{EF}"), (.value, "\u{BB}"), (.value, "\u{BF}"): break
    case (.name, "\""), (.value, "\""): begin(.text)
    case (.colon, ":"): state = .value
    case (.after, ",") where isObject != nil: state = isObject == true ? .name : .value
    case (.after, "}") where isObject == true, (.name, "}") where isFirst,
      (.after, "]") where isObject == false,
      (.value, "]") where isFirst && isObject == false:
      return endLevel()
    case (.after, _) where path.isEmpty:
      state = .value
      return try take(byte)
    case (.value, "{"), (.value, "["): return try beginLevel(isObject: sign == "{")
    case (.value, _) where byte.isLetterOrDigit || sign == "-":
      begin(.word)
      text.keep([byte])
    default: throw Self.noJSON
    }
    return nil
  }

  private mutating func beginLevel(isObject: Bool) throws(Damage) -> Event {
    if path.isEmpty { startLine = line }
    guard path.count < Self.depth else { throw Damage(why: "it is nested more than \(Self.depth) deep") }
    begin(isObject ? .name : .value)
    let start = steps.count
    if !isObject { steps += "[]".utf8 }
    path.append(Level(isObject: isObject, step: start..<steps.count))
    return .began
  }

  private mutating func endLevel() -> Event {
    steps.removeSubrange((path.popLast()?.step.lowerBound ?? 0)...)
    state = .after
    if path.isEmpty, startLine == line { isLines = true }
    return .ended
  }

  private mutating func begin(_ next: State) {
    isName = state == .name
    isEscaped = false
    state = next
    text.removeAll(keepingCapacity: true)
    if !path.isEmpty { path[path.count - 1].count += 1 }
  }

  private mutating func endText() throws(Damage) -> Event? {
    if isEscaped, text.count <= ListLine.limit {
      guard let plain = String(json: [0x22] + text + [0x22]) else {
        throw Damage(why: "a text has an unknown escape")
      }
      text = Array(plain.utf8)
    }
    state = isName ? .colon : .after
    guard isName else { return .text }
    let start = path[path.count - 1].step.lowerBound
    steps.replaceSubrange(start..., with: text)
    path[path.count - 1].step = start..<steps.count
    return nil
  }

  private mutating func word() throws(Damage) -> Event {
    state = .after
    if Self.literals.contains(text) { return .literal }
    // A word has letters, digits and signs; only letters are greater than "9", and a number may contain `e`.
    guard text.allSatisfy({ $0 <= UInt8(ascii: "9") || $0 | 0x20 == UInt8(ascii: "e") }) else { throw Self.noJSON }
    return .number
  }
}
