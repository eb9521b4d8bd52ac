/// A bar's cells between its two edges.
struct ProgressBar: Equatable {
  /// What it is to say.
  enum Extent: Equatable {
    /// From 0 to 1.
    case part(Double)
    /// Bytes come, but how many are to come is not known: a block that goes to and fro. Its step grows only when bytes
    /// arrive, so that the block stands still when nothing comes.
    case moving(step: Int)
    /// Nothing has come yet.
    case empty
  }

  let before: String
  let filled: String
  let after: String
  /// Of the filled part.
  let filledCells: Int

  init(_ extent: Extent, cells: Int, glyphs: Glyphs.Bar) {
    let cells = max(0, cells)
    var (offset, length) = (0, 0)
    switch extent {
    case .empty: filled = ""
    case .part(let fraction): (filled, length) = Self.filled(fraction, cells, glyphs)
    case .moving(let step):
      let block = min(max(1, cells / 4), cells)
      let track = max(1, cells - block)
      let place = max(0, step) % (2 * track)
      offset = min(place <= track ? place : 2 * track - place, cells - block)
      (filled, length) = (Self.run(of: glyphs.steps.last ?? "#", block), block)
    }
    before = Self.run(of: glyphs.empty, offset)
    after = Self.run(of: glyphs.empty, cells - offset - length)
    filledCells = length
  }

  /// The same as `String(repeating:count:)`, without a step for each piece: most of a frame is bars.
  static func run(of glyph: String, _ count: Int) -> String {
    let bytes = Array(glyph.utf8)
    guard count > 0, !bytes.isEmpty else { return "" }
    return String(unsafeUninitializedCapacity: count * bytes.count) { buffer in
      for index in 0..<count {
        for (offset, byte) in bytes.enumerated() { buffer[index * bytes.count + offset] = byte }
      }
      return count * bytes.count
    }
  }

  /// Never full before it is done, never empty once something is there.
  private static func filled(
    _ fraction: Double, _ cells: Int, _ glyphs: Glyphs.Bar
  ) -> (text: String, cells: Int) {
    let steps = glyphs.steps.count
    let bounded = fraction.isFinite ? min(max(fraction, 0), 1) : 0
    let count = bounded > 0 ? min(max(1, Int(bounded * Double(cells * steps))), cells * steps) : 0
    let full = run(of: glyphs.steps.last ?? "#", count / steps)
    return count % steps == 0
      ? (full, count / steps) : (full + glyphs.steps[count % steps - 1], count / steps + 1)
  }
}

/// The characters that frames are drawn with, for a locale that has them and for one that has not.
struct Glyphs: Sendable, Equatable {
  /// What a bar is made of; all are one cell wide.
  struct Bar: Sendable, Equatable {
    var start: String
    /// The last cell of the filled part, from hardly anything to full.
    var steps: [String]
    var empty: String
    var end: String

    /// Thin, so that many stand above one another and stay apart.
    static let line = Bar(start: " ", steps: ["╾", "━"], empty: "─", end: " ")
    /// Solid and fine-grained, for one that stands alone.
    static let block = Bar(start: "▕", steps: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"], empty: " ", end: "▏")
    static let ascii = Bar(start: "[", steps: ["#"], empty: ".", end: "]")
  }

  var isASCII: Bool
  var done: String
  var failed: String
  var retry: String
  /// Before the name of a row that is selected.
  var selected = ">"
  var ellipsis: String
  var atLeast: String
  var separator: String
  var rowBar: Bar
  var totalBar: Bar

  static let unicode = Glyphs(
    isASCII: false, done: "✓", failed: "✗", retry: "↻", ellipsis: "…", atLeast: "≥", separator: " · ",
    rowBar: .line, totalBar: .block)

  static let ascii = Glyphs(
    isASCII: true, done: "+", failed: "x", retry: "~", ellipsis: "..", atLeast: ">=", separator: ", ",
    rowBar: .ascii, totalBar: .ascii)
}
