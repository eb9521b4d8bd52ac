import DownloadModel

/// The columns of a row and their widths in cells: these depend on the room alone, so that nothing shifts.
struct RowColumns: Equatable {
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
  /// Of the rate, and of the bytes.
  let hasRate: Bool
  let hasTime: Bool

  /// The width of the bytes, and of what stands before them.
  let bytes: Int

  /// One cell less than the window, as a full line would wrap, and less a margin. In a narrower window tmux breaks
  /// longer lines, and what stands at the top goes to its scroll-back, where nothing clears it. So a step of the
  /// window's edge breaks no row; while it moves, none of many at once does.
  static func usable(of columns: Int, isNarrowing: Bool) -> Int {
    max(0, columns - 1 - columns / (isNarrowing ? 4 : 20))
  }

  /// Cells of a panel beside the rows: what rows of all columns leave, but 40 at least if 60 are left for the rows;
  /// nil where there are fewer. Longer lines than 72 cells are hard to read.
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
    // What "of" takes is the bar's, not the name's.
    let forBar = rest - Self.gap - (hasOnlyTotal ? 6 : 0)
    bar = usable >= 36 ? min(max(hasRate ? 8 : 12, forBar * 3 / 8), 40) : 0
    name = min(rest - (bar > 0 ? bar + Self.gap : 0), 56)
  }
}
