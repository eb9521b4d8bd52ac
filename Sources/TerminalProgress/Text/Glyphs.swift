/// The characters that frames are drawn with: by default those for a Unicode locale.
struct Glyphs {
  /// The characters of a bar; all are one cell wide.
  struct Bar {
    var start: String
    /// The last cell of the filled part, from nearly empty to full.
    var steps: [String]
    var empty: String
    var end: String

    /// Thin, so that many bars stay apart when stacked.
    static let line = Bar(start: " ", steps: ["╾", "━"], empty: "─", end: " ")
    /// Solid and fine-grained, for a single bar.
    static let block = Bar(start: "▕", steps: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"], empty: " ", end: "▏")
    static let ascii = Bar(start: "[", steps: ["#"], empty: ".", end: "]")
  }

  var isASCII = false
  var done = "✓"
  var failed = "✗"
  var retry = "↻"
  /// Before the name of a selected row.
  var selected = ">"
  var ellipsis = "…"
  var atLeast = "≥"
  var separator = " · "
  /// Between the rows and a panel beside them.
  var rule = " │ "
  var rowBar = Bar.line
  var totalBar = Bar.block

  static let unicode = Glyphs()

  static let ascii = Glyphs(
    isASCII: true, done: "+", failed: "x", retry: "~", ellipsis: "..", atLeast: ">=", separator: ", ", rule: " | ",
    rowBar: .ascii, totalBar: .ascii)
}
