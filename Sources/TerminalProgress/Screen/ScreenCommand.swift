/// A key's request to the run.
package enum ScreenCommand: Sendable, Equatable {
  case pause, goOn
  /// Change of the number of files at a time.
  case width(change: Int)
  /// Change of the limit on bytes a second.
  case limit(isFaster: Bool)
  /// Gives up one file for this run, and keeps its downloaded part.
  case skip(id: Int)
  /// Like the first Ctrl-C.
  case stop
  /// Stops, and goes on without the terminal.
  case handOver
}
