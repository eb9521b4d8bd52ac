import Foundation
import Glibc

/// A command that runs in a real terminal, as a shell's job, with its screen to be looked at cell by cell (see
/// terminal.py).
///
///     let terminal = try await TerminalRun(place, ["get", url], columns: 80, rows: 24)
///     defer { terminal.stop() }
///     try await terminal.wait(for: "1/1 file")
///     try await terminal.type("q")
package final class TerminalRun: Sendable {
  private let folder: TemporaryFolder
  private let process: CommandRun
  private let requests = Monitor(0)

  /// What the terminal shows, and how it stands.
  package struct Screen: Decodable, Sendable {
    /// Every line of the window from the top, without blanks at its end.
    package let lines: [String]
    /// Lines that have left the window at its top.
    package let scrolled: [String]
    package let columns: Int
    package let row: Int
    package let column: Int
    package let isCursorShown: Bool
    /// The terminal's mode (termios), now and before the command began, to be compared.
    package let mode: String
    package let modeBefore: String
    /// The mode in which each stop of the command left the terminal.
    package let modesAtStops: [String]
    /// The mode in which its end left it.
    package let modeAfter: String?
    /// Its exit status; the negative number of the signal that ended it; nil while it lives.
    package let status: Int?
    /// Synchronized frames so far.
    package let frames: Int
    /// Bytes that were sent to the terminal.
    package let bytes: Int
    package let mostBytesInASecond: Int

    package var text: String { lines.joined(separator: "\n") }
    /// All that was ever written and not erased, down to the last line that is not empty.
    package var everything: [String] {
      var all = scrolled + lines
      while all.last?.isEmpty == true { all.removeLast() }
      return all
    }
  }

  private struct Answer: Decodable {
    let failure: String?
    let screen: Screen
    let shown: [[String]]?
  }

  /// Starts `dlm` in a place of a user's.
  package convenience init(
    _ place: Workplace, _ arguments: [String], columns: Int = 80, rows: Int = 24
  ) throws {
    try self.init(place, command: [try DLMExecutable.path()] + arguments, columns: columns, rows: rows)
  }

  /// - Throws: when Python 3 or its module pyte is missing.
  package init(_ place: Workplace, command: [String], columns: Int = 80, rows: Int = 24) throws {
    folder = try TemporaryFolder()
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "terminal.py").path
    process = try place.start(
      "/usr/bin/env",
      ["PYTHONPATH=\(try Self.modules())", "TERM=xterm-256color", "/usr/bin/python3", script, folder.path]
        + ["\(columns)", "\(rows)"] + command, input: .open)
  }

  deinit { stop() }

  /// Ends the command too. May be called again; `deinit` does.
  package func stop() {
    process.closeInput()
    if !process.blockUntilExit(before: Date(timeIntervalSinceNow: 5)) { process.send(SIGKILL) }
  }

  /// Where Config/test puts modules of PyPI.
  private static func modules() throws(SupportFailure) -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
    let modules = root.appending(path: ".build/python").path
    guard FileManager.default.fileExists(atPath: "\(modules)/pyte") else {
      throw SupportFailure("pyte is missing in \(modules); Config/test installs it")
    }
    return modules
  }

  // MARK: Looking

  package func screen() async throws -> Screen { try await ask(["op": "look"]).screen }

  /// The window's lines at the end of each of the last 400 frames.
  package func frames() async throws -> [[String]] { try await ask(["op": "frames"]).shown ?? [] }

  /// All that the terminal was sent.
  package func sent() throws -> [UInt8] { try folder.read("bytes") }

  /// Suspends until the window shows a text.
  /// - Parameters:
  ///   - pattern: a regular expression of Python's; `^` and `$` are a line's ends.
  ///   - everywhere: in what has scrolled off, too.
  /// - Throws: after a long safety limit, with what the window shows.
  @discardableResult
  package func wait(for pattern: String, everywhere: Bool = false) async throws -> Screen {
    try await wait(["text": pattern, "everywhere": everywhere], "\"\(pattern)\"")
  }

  @discardableResult
  package func wait(forAbsenceOf pattern: String) async throws -> Screen {
    try await wait(["text": pattern, "absent": true], "\"\(pattern)\" to go")
  }

  /// Suspends until the command has ended.
  package func waitForEnd() async throws -> Screen { try await wait(["until": "ended"], "the end") }

  /// Suspends until it has been stopped so many times.
  @discardableResult
  package func wait(forStops count: Int) async throws -> Screen {
    try await wait(["until": "stops", "count": count], "\(count) stops")
  }

  /// Suspends until so many frames were drawn since the start.
  @discardableResult
  package func wait(forFrames count: Int) async throws -> Screen {
    try await wait(["until": "frames", "count": count], "\(count) frames")
  }

  private func wait(_ condition: [String: any Sendable], _ what: String) async throws -> Screen {
    var request = condition
    request["op"] = "wait"
    // Less than this process waits for the answer, which has the window in it.
    request["limit"] = (safetyLimit - .seconds(30)).inSeconds
    let answer = try await ask(request)
    if let failure = answer.failure {
      throw SupportFailure("\(failure) for \(what); the window shows:\n\(answer.screen.text)")
    }
    return answer.screen
  }

  // MARK: Acting

  package func type(_ keys: String) async throws {
    try await ask(["op": "type", "keys": Data(keys.utf8).base64EncodedString()])
  }

  /// - Parameter isTold: false for a window that has changed, of which the command does not know yet.
  package func resize(columns: Int, rows: Int, isTold: Bool = true) async throws {
    try await ask(["op": "resize", "columns": columns, "rows": rows, "told": isTold])
  }

  /// Writes to the terminal as the job's shell would.
  package func print(_ text: String) async throws { try await ask(["op": "print", "text": text]) }

  package func send(_ signal: Int32) async throws { try await ask(["op": "order", "order": "\(signal)"]) }

  /// Gives the stopped job the terminal and continues it.
  package func foreground() async throws { try await ask(["op": "order", "order": "fg"]) }

  /// Continues the stopped job without the terminal.
  package func background() async throws { try await ask(["op": "order", "order": "bg"]) }

  @discardableResult
  private func ask(_ request: [String: any Sendable]) async throws -> Answer {
    let number = requests.withState {
      $0 += 1
      return $0
    }
    var request = request
    request["id"] = number
    process.write(Array(try JSONSerialization.data(withJSONObject: request)) + [0x0A])
    // The first line has none before it.
    try await process.wait(
      forOutput: number == 1 ? "1\n" : "\n\(number)\n")
    let data = try Data(contentsOf: URL(filePath: folder.path("\(number)")))
    return try JSONDecoder().decode(Answer.self, from: data)
  }
}
