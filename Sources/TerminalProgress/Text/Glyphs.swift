/// The characters that frames are drawn with, for a Unicode locale and for an ASCII one.
struct Glyphs {
  /// The characters of a bar; all are one cell wide.
  struct Bar {
    var start: Unicode.Scalar
    /// The last cell of the filled part, from nearly empty to full.
    var steps: [Unicode.Scalar]
    var empty: Unicode.Scalar
    var end: Unicode.Scalar

    /// Thin, so that many bars stay apart when stacked.
    static let line = Bar(start: " ", steps: ["╾", "━"], empty: "─", end: " ")
    /// Solid and fine-grained, for a single bar.
    static let block = Bar(start: "▕", steps: ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"], empty: " ", end: "▏")
    static let ascii = Bar(start: "[", steps: ["#"], empty: ".", end: "]")
  }

  var isASCII: Bool
  var done: String
  var failed: String
  var retry: String
  /// Before the name of a selected row.
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
