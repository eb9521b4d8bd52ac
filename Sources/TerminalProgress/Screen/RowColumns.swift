/// The columns of a row and their widths in cells. They depend only on the window, so that columns do not shift.
struct RowColumns {
  static let indent = 2
  static let gap = 2
  static let percentWidth = 4
  static let bytesWidth = 8
  static let rateWidth = 10
  static let timeWidth = 8

  /// Cells that may be written.
  let usable: Int
  let name: Int
  /// 0 for none.
  let bar: Int
  let hasPercent: Bool
  /// "390 MiB / 629 MiB" in place of "390 MiB".
  let hasTotal: Bool
  /// "of 629 MiB", beside the percentage.
  let hasOnlyTotal: Bool
  /// Whether the columns of the rate and of the bytes are shown.
  let hasRate: Bool
  let hasTime: Bool

  /// The width of the bytes, with the text before them.
  let bytes: Int

  /// One cell less than the window, because a full line would wrap, and less a margin. In a narrower window tmux breaks
  /// longer lines, and the top lines go to its scroll-back, where they cannot be cleared. So a step of the window's
  /// edge breaks no row; while the edge moves, even several steps at once break none.
  static func usable(of columns: Int, isNarrowing: Bool) -> Int {
    max(0, columns - 1 - columns / (isNarrowing ? 4 : 20))
  }

  /// Cells of a panel beside the rows: the space that rows with all columns leave, but at least 40 if 60 are left for
  /// the rows; `nil` if there are fewer. Lines longer than 72 cells are hard to read.
  var panel: Int? { usable >= 103 ? min(72, max(40, usable - 96)) : nil }

  init(usable: Int) {
    self.usable = usable
    hasPercent = usable >= 16
    hasRate = usable >= 55
    hasTime = usable >= 69
    hasTotal = usable >= 93
    hasOnlyTotal = hasTime && !hasTotal
    var rest = usable - Self.indent
    if hasPercent { rest -= 1 + Self.percentWidth }
    if hasTotal { rest -= 3 + Self.bytesWidth }
    bytes = (hasOnlyTotal ? 5 : Self.gap) + Self.bytesWidth
    if hasRate { rest -= bytes + Self.gap + Self.rateWidth }
    if hasTime { rest -= Self.gap + Self.timeWidth }
    rest = max(0, rest)
    // A bar shorter than 8 cells says less than the percentage beside it. Without a rate it makes room for a status.
    // The cells of "of" reduce the bar, not the name.
    let forBar = rest - Self.gap - (hasOnlyTotal ? 6 : 0)
    bar = usable >= 36 ? min(max(hasRate ? 8 : 12, forBar * 3 / 8), 40) : 0
    name = min(rest - (bar > 0 ? bar + Self.gap : 0), 56)
  }
}

extension CellLine {
  /// Leaves blank cells before the next column.
  mutating func leaveGap(_ cells: Int = RowColumns.gap) { pad(to: width + cells) }
}
