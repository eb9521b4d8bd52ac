/// A window's size in character cells.
public struct TerminalSize: Sendable, Equatable {
  public var columns: Int
  public var rows: Int

  public init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }

  /// What a terminal has that does not say (POSIX.1: 80 by 24).
  static let usual = TerminalSize(columns: 80, rows: 24)
}
