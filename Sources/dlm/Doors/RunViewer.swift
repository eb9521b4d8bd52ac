import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import RunDoors
import TerminalProgress

/// Shows a run of another process on this terminal, and passes it the keys.
struct RunViewer: Sendable {
  private let run: RunRecord
  private let style: ProgressStyle.Resolved
  private let output: TerminalOutput
  private let variables: [String: String]

  private static let ofTerminal = [
    "TERM", "TERM_PROGRAM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR",
    "WT_SESSION", "ConEmuANSI",
  ]

  private enum End: Sendable, Equatable {
    case ofRun(Int32)
    /// The user has left.
    case left
    /// The run was killed.
    case lost
  }

  init(_ run: RunRecord, _ progress: ProgressStyle) {
    self.run = run
    let environment = ProcessInfo.processInfo.environment
    variables = environment.filter { Self.ofTerminal.contains($0.key) }
    let standardError = TerminalOutput(takesKeys: true)
    style = progress.resolved(
      in: TerminalEnvironment(isTerminal: standardError.isTerminal, variables: environment))
    output = style == .json ? TerminalOutput(descriptor: STDOUT_FILENO) : standardError
  }

  /// - Returns: the exit status: the run's, or 0 if the user leaves.
  func show(_ connection: DoorConnection) async throws(Refusal) -> ExitStatus {
    let keys = style == .bars ? TerminalKeys() : nil
    let leaving = keys == nil ? "Ctrl-C leaves" : "b or Ctrl-C leaves, q stops the download"
    if style != .json { StandardError.say("dlm: run \(run.number), into \(run.directory): \(leaving)") }
    let signals = Signals(.ending) {
      restore()
      output.giveKeysBack(isForGood: true)
    }
    let stops = style == .bars ? Signals(.stopping) : nil
    let end = await withTaskGroup { group in
      group.addTask { await Reading(self, connection).untilEnd() }
      group.addTask {
        for await _ in signals { break }
        return End.left
      }
      if let keys { group.addTask { await press(keys, connection) } }
      if let stops { group.addTask { await stopAndGoOn(at: stops, connection) } }
      var end = End.left
      while let next = await group.next() {
        guard let next else { continue }
        end = next
        break
      }
      group.cancelAll()
      return end
    }
    if end == .left { await Reading(self, connection).endWatch() }
    output.giveKeysBack(isForGood: true)
    switch end {
    case .left:
      StandardError.say("run \(run.number) goes on · dlm attach \(run.number)")
      return .success
    case .ofRun(let status): return try await say(ended: status)
    case .lost:
      restore()
      return try await say(ended: nil)
    }
  }

  /// - Parameter status: `nil` if the run did not tell it.
  /// - Returns: the exit status of the run.
  func say(ended status: Int32?) async throws(Refusal) -> ExitStatus {
    var isAlive = true
    // Its record says so a moment later.
    for _ in 0..<20 where isAlive {
      let found = RunStatus.all().filter { $0.record.number == run.number }
      if let end = found.first?.record.end {
        if style != .json { StandardError.say(RunStatus.lines(found) + found.flatMap(\.files)) }
        return ExitStatus(rawValue: status ?? end.status) ?? .failed
      }
      isAlive = found.first?.isAlive == true
      try? await Task.sleep(for: .milliseconds(100))
    }
    if isAlive { throw RunVisit.Failure.unreachable(run).refusal }
    throw Refusal("dlm: run \(run.number) was killed: dlm resume \(run.number) goes on with it", .tryAgain)
  }

  /// Shows the cursor again, if the run cannot.
  private func restore() { if style == .bars, output.isInForeground { output.writeAtOnce(ProgressRenderer.restoring) } }

  // MARK: Keys

  private func press(_ keys: TerminalKeys, _ connection: DoorConnection) async -> End? {
    let (left, leave) = AsyncStream<Void>.makeStream()
    await withTaskGroup { group in
      group.addTask {
        await keys.run { key in
          if key == .text("b") { return leave.finish() }
          if case .paste(let text) = key, add(text, connection) { return }
          try? connection.send(["do": "press", "key": "\(ScreenKey(key).rawValue)"])  // a run that has gone is noticed
        }
      }
      group.addTask { for await _ in left {} }
      await group.next()
      group.cancelAll()
    }
    return Task.isCancelled ? nil : .left
  }

  /// - Returns: whether the text was links.
  private func add(_ text: String, _ connection: DoorConnection) -> Bool {
    let links = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard !links.isEmpty, links.allSatisfy({ Source.isFetchable($0) }) else { return false }
    try? connection.send(["do": "add", "urls": links])
    return true
  }

  private func stopAndGoOn(at stops: Signals, _ connection: DoorConnection) async -> End? {
    for await signal in stops {
      // The process stops once the run has taken its bars off the screen, and has answered.
      if signal == SIGTSTP { try? connection.send(["id": Self.stopping, "do": "unwatch"]) } else { watch(connection) }
    }
    return nil
  }

  /// Identifies the command before Ctrl-Z.
  private static let stopping = -1

  fileprivate func stopAndGoOn(_ connection: DoorConnection) {
    output.giveKeysBack(isForGood: false)
    Signals.stopProcess()
    watch(connection)
  }

  fileprivate func watch(_ connection: DoorConnection) {
    if style == .bars { output.takeKeys() }
    let size = output.size ?? .usual
    let watch: JSONFields = [
      "style": style == .bars ? "bars" : style == .json ? "json" : "plain", "columns": size.columns,
      "rows": size.rows, "terminal": JSONValue(variables),
    ]
    try? connection.send(["do": "watch", "watch": JSONValue(watch)])
  }

  /// On a thread of its own, because it waits for the run and for the terminal.
  private actor Reading {
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let thread = BlockingExecutor(label: "dlm.attach")
    private let viewer: RunViewer
    private let connection: DoorConnection
    /// How long a change of the window's size may go unnoticed, in milliseconds.
    private static let moment: Int32 = 200

    private struct Line: Decodable {
      var type: String?
      var text: String?
      var status: Int32?
      var id: Int?
    }

    init(_ viewer: RunViewer, _ connection: DoorConnection) {
      self.viewer = viewer
      self.connection = connection
    }

    func untilEnd() -> End? {
      viewer.watch(connection)
      var size = viewer.output.size
      while !Task.isCancelled {
        do {
          if let bytes = try connection.line(within: Self.moment), let end = try take(bytes) { return end }
        } catch { return Task.isCancelled ? nil : .lost }
        if let now = viewer.output.size, now != size {
          size = now
          let window: JSONFields = ["columns": now.columns, "rows": now.rows]
          try? connection.send(["do": "size", "watch": JSONValue(window)])
        }
      }
      return nil
    }

    /// Lets the run take its bars off the screen.
    func endWatch() {
      guard (try? connection.send(["id": 0, "do": "unwatch"])) != nil else { return }
      while let bytes = try? connection.line(within: 1000), (try? take(bytes)) == .some(nil) {
        if Line(json: bytes)?.id == 0 { return }
      }
    }

    private func take(_ bytes: [UInt8]) throws -> End? {
      guard let line = Line(json: bytes) else { return nil }
      switch line.type {
      case nil where line.id == RunViewer.stopping: viewer.stopAndGoOn(connection)
      case "ended": return .ofRun(line.status ?? 1)
      // In the background of a shell, the terminal is the shell's.
      case "show" where viewer.style == .bars && !viewer.output.isInForeground: break
      case "show": try line.text.map { try viewer.output.write(Array($0.utf8)) }
      case nil, "hello": break
      default: if viewer.style == .json { try viewer.output.write(bytes + [.newline]) }
      }
      return nil
    }
  }
}
