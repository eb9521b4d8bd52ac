import DownloadModel

/// What a key asks of the run.
package enum ScreenCommand: Sendable, Equatable {
  case pause, goOn
  /// One file at a time more, or one less.
  case width(change: Int)
  /// Give up one file for this run, and keep its downloaded part.
  case skip(id: Int)
  /// As the first Ctrl-C.
  case stop
}
