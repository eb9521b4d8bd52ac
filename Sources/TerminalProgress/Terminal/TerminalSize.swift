/// A window's size in character cells.
package struct TerminalSize: Sendable, Equatable {
  package var columns: Int
  package var rows: Int

  /// The size of a terminal that does not report it (POSIX.1: 80 by 24).
  package static let usual = TerminalSize(columns: 80, rows: 24)

  package init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }
}
