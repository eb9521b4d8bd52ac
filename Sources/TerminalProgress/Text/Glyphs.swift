/// The characters that frames are drawn with, for a locale that has them and for one that has not.
struct Glyphs: Equatable {
  /// What a bar is made of; all are one cell wide.
  struct Bar: Equatable {
    var start: Unicode.Scalar
    /// The last cell of the filled part, from hardly anything to full.
    var steps: [Unicode.Scalar]
    var empty: Unicode.Scalar
    var end: Unicode.Scalar

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
