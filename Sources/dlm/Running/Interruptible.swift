import Glibc
import TerminalProgress

/// Runs work as the root of the task tree, with the process's signals as its cancellation.
enum Interruptible {
  /// SIGINT, SIGTERM and SIGHUP cancel the work, which puts away what it has; a second one ends the process at once.
  /// SIGTSTP (Ctrl-Z) gives the terminal back before it stops.
  /// - Parameter early: signals that count already, because something is to be put away whatever happens from then on.
  /// - Returns: the signal that cancelled; nil when the work came to its end.
  static func run(
    _ screen: ProgressScreen, early: Signals? = nil, _ work: @escaping @Sendable () async -> Void
  ) async -> Int32? {
    let signals = early ?? Signals(.ending) { screen.restoreNow() }
    let stops = screen.style == .bars ? Signals(.stopping) : nil
    return await withTaskGroup(of: Int32?.self) { group in
      group.addTask {
        await work()
        return nil
      }
      group.addTask { await signals.first { _ in true } }
      if let stops {
        group.addTask {
          for await _ in stops {
            await screen.suspend()
            kill(getpid(), SIGSTOP)
            await screen.resume()
          }
          return nil
        }
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first  // a group waits for its children: the work has put everything away by then
    }
  }
}
