import Foundation

/// A bash in a window of tmux, whose keys are the test's: a real shell with job control, on a terminal that breaks
/// lines anew when its window changes.
package final class TmuxRun: Sendable {
  private let folder: TemporaryFolder
  private let place: Workplace

  /// - Throws: when tmux is missing or does not start.
  package init(_ place: Workplace, columns: Int = 80, rows: Int = 24) async throws {
    self.place = place
    folder = try TemporaryFolder()
    let shell = "env PS1='$ ' PS2= bash --norc --noprofile -i"
    try await tmux("new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", shell)
    try await wait { $0.last?.hasPrefix("$") == true }
  }

  deinit { stop() }

  /// May be called again; `deinit` does.
  package func stop() {
    // Its socket goes with the folder; the server ends with its only session.
    let kill = try? place.start("tmux", socket + ["kill-server"])
    _ = kill?.blockUntilExit(before: Date(timeIntervalSinceNow: 5))
  }

  private var socket: [String] { ["-S", folder.path("tmux"), "-f", "/dev/null"] }

  /// Types text, then Enter.
  package func run(_ line: String) async throws {
    try await tmux("send-keys", "-l", line)
    try await tmux("send-keys", "Enter")
  }

  /// Presses keys by the names that tmux has for them, such as `C-z`.
  package func press(_ keys: String...) async throws {
    for key in keys { try await tmux("send-keys", key) }
  }

  /// Pastes text, marked as such where the program has asked for that.
  package func paste(_ text: String) async throws {
    try await tmux("set-buffer", text)
    try await tmux("paste-buffer", "-p")
  }

  package func resize(columns: Int, rows: Int) async throws {
    try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
  }

  /// All lines, those that have scrolled off too, down to the last that is not empty.
  package func lines() async throws -> [String] {
    let text = try await tmux("capture-pane", "-p", "-S", "-")
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
      String($0.reversed().drop { $0 == " " }.reversed())
    }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  /// Suspends until the lines are such.
  /// - Throws: after a long safety limit, with what the window shows. tmux has no event to wait for.
  @discardableResult
  package func wait(until isMet: ([String]) -> Bool) async throws -> [String] {
    var shown: [String] = []
    let end = ContinuousClock.now + safetyLimit
    while ContinuousClock.now < end {
      shown = try await lines()
      if isMet(shown) { return shown }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw SupportFailure("waited in vain; the window shows:\n\(shown.joined(separator: "\n"))")
  }

  @discardableResult
  private func tmux(_ words: String...) async throws -> String {
    let result = try await place.start("tmux", socket + words).waitForExit()
    guard result.status == 0 else { throw SupportFailure("tmux \(words): \(result.errorText)") }
    return result.outputText
  }
}
