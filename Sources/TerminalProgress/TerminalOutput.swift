import Glibc

/// Where progress is written to. `TerminalOutput` is the real one; tests read the characters.
package protocol ProgressOutput: Sendable {
  /// Whether bytes would be taken at once. A stopped terminal (Ctrl-S) or a full pipe is not ready.
  var isReady: Bool { get }

  /// Whether the terminal is ours to draw on. A job in the background (`&`, `bg`) shares it with the shell.
  var isInForeground: Bool { get }

  /// The window as it is now; nil if it has none or does not say.
  var size: TerminalSize? { get }

  /// Writes everything, however long that takes.
  func write(_ bytes: [UInt8]) throws(OutputLost)

  /// Turns echo and lines off: what is typed is a key. Only in the foreground; done already, it costs nothing.
  func takeKeys()

  /// Gives echo and lines back, from any thread; for good, `takeKeys` does nothing from then on.
  func giveKeysBack(isForGood: Bool)

  /// Writes what is taken at once with a single call and gives the rest up; allocates nothing and never waits.
  func writeAtOnce(_ bytes: [UInt8])
}

/// Output is no longer taken: the terminal hung up, the pipe was closed, or the disk of the log is full.
package struct OutputLost: Error, Sendable, Equatable {
  package var errno: Int32
  package init(errno: Int32) { self.errno = errno }
}

/// Standard error, or another descriptor. It stays blocking or not as it was found: other processes share it.
package struct TerminalOutput: ProgressOutput {
  private let descriptor: Int32
  /// Nil where keys are left as they are.
  private let mode: TerminalMode?

  /// - Parameter takesKeys: whether what is typed is unseen while bars stand.
  /// - Parameter keepsInput: whether it is left for the program that reads next.
  package init(descriptor: Int32? = nil, takesKeys: Bool = false, keepsInput: @autoclosure () -> Bool = false) {
    let descriptor = descriptor ?? STDERR_FILENO
    self.descriptor = descriptor
    mode = takesKeys && isatty(descriptor) == 1 ? TerminalMode(descriptor, keepsInput: keepsInput()) : nil
  }

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  package var isReady: Bool { canWrite(within: 0) }

  /// True also for what is no terminal, or not the one that controls this process.
  package var isInForeground: Bool {
    let group = tcgetpgrp(descriptor)
    return group < 0 || group == getpgrp()
  }

  package var size: TerminalSize? {
    var window = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else { return nil }
    return TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  package func takeKeys() {
    // What is left for the next program is left as it was typed, without marks.
    if mode?.take() == true, mode?.keepsInput == false { writeAtOnce(TerminalMode.pasteOn) }
  }

  package func giveKeysBack(isForGood: Bool) {
    if mode?.giveBack(isForGood: isForGood) == true { writeAtOnce(TerminalMode.pasteOff) }
  }

  package func write(_ bytes: [UInt8]) throws(OutputLost) { try write(bytes) { true } }

  /// Also to a descriptor that does not block.
  /// - Parameter waits: asked after each second in which nothing is taken.
  package func write(_ bytes: [UInt8], while waits: () -> Bool) throws(OutputLost) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        if !canWrite(within: 1000), !waits() { throw OutputLost(errno: EINTR) }
      } else if errno != EINTR {
        throw OutputLost(errno: errno)
      }
    }
  }

  package func writeAtOnce(_ bytes: [UInt8]) {
    guard isReady else { return }
    // The process is about to end: what was not taken, or failed, cannot be mended.
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  /// - Parameter milliseconds: how long to wait for it; -1 for good.
  private func canWrite(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    // An error counts as ready: the write that follows will say what it is.
    return poll(&request, 1, milliseconds) != 0
  }
}

/// Whether progress is written to a terminal, and the environment variables that tell which.
package struct TerminalEnvironment: Sendable {
  package var isTerminal: Bool
  private var variables: [String: String]

  package init(isTerminal: Bool, variables: [String: String]) {
    self.isTerminal = isTerminal
    self.variables = variables
  }

  /// The variable's value; nil if it is not set or empty, which mean the same here.
  subscript(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

  func isOn(_ name: String) -> Bool { self[name].map { !["0", "false"].contains($0.lowercased()) } ?? false }

  /// Whether cursor movement and colour make sense at all.
  var movesCursor: Bool { isTerminal && self["TERM"].map { $0 != "dumb" } ?? false }

  var isContinuousIntegration: Bool {
    isOn("CI") || ["JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD"].contains { self[$0] != nil }
  }

  /// The first of the three that is set decides (POSIX.1 §8.2).
  package var isUTF8: Bool {
    let locale = (self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? "").lowercased()
    return locale.contains("utf-8") || locale.contains("utf8")
  }

  /// The text console of Linux reads UTF-8 but its font has neither ticks nor partial blocks.
  var glyphs: Glyphs { isUTF8 && self["TERM"] != "linux" ? .unicode : .ascii }

  /// Whether bars may be drawn with blocks.
  package var drawsBlocks: Bool { glyphs == .unicode }

  /// Strongest first: `NO_COLOR` (no-color.org), `CLICOLOR_FORCE` or `FORCE_COLOR` (not empty, not 0), the terminal.
  package var isColored: Bool {
    self["NO_COLOR"] == nil && (isOn("CLICOLOR_FORCE") || isOn("FORCE_COLOR") || movesCursor)
  }

  /// Terminals that keep their title while another stands; others would be left with it.
  var takesTitle: Bool {
    movesCursor && ["xterm", "tmux", "foot", "alacritty"].contains { self["TERM"]?.hasPrefix($0) == true }
  }

  /// Terminals known to take `OSC 9;4`; others show it as a notification or as text.
  var takesTaskbarProgress: Bool {
    guard movesCursor else { return false }
    if self["WT_SESSION"] != nil || self["ConEmuANSI"] == "ON" { return true }
    return self["TERM_PROGRAM"].map { ["wezterm", "ghostty"].contains($0.lowercased()) } ?? false
  }
}

/// A window's size in character cells.
package struct TerminalSize: Sendable, Equatable {
  package var columns: Int
  package var rows: Int

  package init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }

  /// What a terminal has that does not say (POSIX.1: 80 by 24).
  package static let usual = TerminalSize(columns: 80, rows: 24)
}
