/// Which columns a row has in a window of some width, and how wide they are, in cells.
///
/// Widths depend on the window alone, never on what stands in them, so nothing shifts from frame to frame.
struct RowColumns: Equatable {
  static let indent = 2
  static let gap = 2
  static let percentWidth = 4
  static let bytesWidth = 8
  static let rateWidth = 10
  static let timeWidth = 8

  /// Cells that may be written: one less than the window, as a full line would wrap.
  let usable: Int
  let name: Int
  /// 0 for none.
  let bar: Int
  let hasPercent: Bool
  let hasBytes: Bool
  /// "390 MiB / 629 MiB" in place of "390 MiB".
  let hasTotal: Bool
  let hasRate: Bool
  let hasTime: Bool

  init(columns: Int) {
    usable = max(0, columns - 1)
    hasPercent = usable >= 16
    hasBytes = usable >= 55
    hasRate = usable >= 55
    hasTime = usable >= 69
    hasTotal = usable >= 99
    var rest = usable - Self.indent
    if hasPercent { rest -= 1 + Self.percentWidth }
    if hasBytes { rest -= Self.gap + Self.bytesWidth }
    if hasTotal { rest -= 3 + Self.bytesWidth }
    if hasRate { rest -= Self.gap + Self.rateWidth }
    if hasTime { rest -= Self.gap + Self.timeWidth }
    rest = max(0, rest)
    // A bar shorter than 8 cells says less than the percentage beside it.
    bar = usable >= 36 ? min(max(8, (rest - Self.gap) * 2 / 5), 40) : 0
    name = min(rest - (bar > 0 ? bar + Self.gap : 0), 56)
  }
}
