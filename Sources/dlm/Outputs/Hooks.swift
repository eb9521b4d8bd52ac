import Dispatch
import DownloadModel
import FoundationEssentials
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Runs the user's commands (`--on-complete`, `--on-done`), on a thread of its own, because it waits for processes; dlm
/// starts no others. A command that fails is reported, and does not fail the run. A signal that ends the run ends them,
/// with all processes that they started: each is a process group.
actor Hooks {
  private let executor = BlockingExecutor(label: "dlm.hooks")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let settings: Settings
  private let (files, file) = AsyncStream<[String: String]>.makeStream()

  private struct Groups {
    /// The running commands by group, with the file of each.
    var running: [pid_t: String] = [:]
    var isEnding = false
  }

  /// What a command gets from this process: empty input, standard error, no other descriptors, the usual signals.
  fileprivate struct Surroundings: ~Copyable {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()

    init() {
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      let output = FileDescriptor.standardOutput.rawValue
      let error = FileDescriptor.standardError.rawValue
      posix_spawn_file_actions_addopen(&actions, FileDescriptor.standardInput.rawValue, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, error, output)
      // Most descriptors close by their own flag, but not those that libraries opened.
      for number in FileManager.default.names(in: "/proc/self/fd").compactMap({ Int32($0) }) where number > error {
        posix_spawn_file_actions_addclose(&actions, number)
      }
      var signals = sigset_t()
      sigemptyset(&signals)
      posix_spawnattr_setsigmask(&attributes, &signals)
      sigaddset(&signals, SIGPIPE)
      posix_spawnattr_setsigdefault(&attributes, &signals)
      let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
      posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    deinit {
      var actions = actions
      var attributes = attributes
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
  }

  private static let groups = Lock(Groups())
  /// Between the signal and SIGKILL.
  private static let patience = DispatchTimeInterval.seconds(10)
  private static let workingFolder = FileManager.default.currentDirectoryPath

  init(_ settings: Settings) { self.settings = settings }

  nonisolated func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    guard case .success(let outcome) = result, outcome.kind != .skipped else { return }
    // The run that handed over has run it.
    if DetachedStart.isContinued, outcome.kind != .fetched, outcome.kind != .copied { return }
    let verdict = outcome.kind == .fetched ? "downloaded" : outcome.kind == .copied ? "copied" : "unchanged"
    // Absolute, because a command would read a server's `--version` as an option.
    let path = FilePath(Self.workingFolder.isEmpty ? "." : Self.workingFolder).pushing(FilePath(outcome.path))
    file.yield(["URL": request.address.redacted, "PATH": path.string, "VERDICT": verdict, "STATUS": "0"])
  }

  /// Returns when the commands of all files have ended.
  func run() async {
    var left = 0
    for await variables in files {
      while running >= settings.jobs { reap() }
      if !start("--on-complete", settings.own.onComplete, for: variables["PATH"] ?? "", variables) { left += 1 }
      reap(WNOHANG)
    }
    while running > 0 { reap() }
    if left > 0 {
      StandardError.say("dlm: --on-complete did not run for \(Quantity.files(left)); the next run does that")
    }
  }

  private var running: Int { Self.groups.withLock { $0.running.count } }

  nonisolated func finish() { file.finish() }

  /// Ends the running commands, by SIGTERM, and later by SIGKILL. No further command for a file starts.
  static func end() {
    let all = groups.withLock { groups in
      groups.isEnding = true
      return groups.running
    }
    // Whatever the signal was: background processes of a shell ignore SIGINT.
    send(SIGTERM, to: all)
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) { send(SIGKILL, to: all) }
  }

  /// For a process that ends at once.
  static func kill() { send(SIGKILL, to: groups.withLock { $0.running }) }

  private static func send(_ signal: Int32, to some: [pid_t: String]) {
    groups.withLock { for group in some.keys where $0.running[group] != nil { _ = Glibc.kill(-group, signal) } }
  }

  func done(_ status: ExitStatus, _ tally: ProgressTally) {
    Self.groups.withLock { $0.isEnding = false }
    let verdict = status != .success ? "failed" : tally.bodies > 0 ? "downloaded" : "unchanged"
    let counts = ["DONE": "\(tally.done)", "FAILED": "\(tally.failed)", "STATUS": "\(status.rawValue)"]
    _ = start("--on-done", settings.own.onDone, for: "the run", counts.merging(["VERDICT": verdict]) { $1 })
    while running > 0 { reap() }
  }

  private func reap(_ options: Int32 = 0) {
    var status: Int32 = 0
    let process = waitpid(-1, &status, options)
    guard let what = Self.groups.withLock({ $0.running.removeValue(forKey: process) }), status != 0 else { return }
    let end = status & 0x7F == 0 ? "with status \(status >> 8)" : "by signal \(status & 0x7F)"
    StandardError.say("dlm: \(what) ended \(end)")
  }

  /// Starts it in a process group of its own, with empty input, and no open descriptor but standard error.
  /// - Returns: false if commands are being ended.
  private func start(
    _ option: String, _ command: HookCommand?, for what: String, _ variables: [String: String]
  ) -> Bool {
    guard let command else { return true }
    var process = pid_t()
    let own = Dictionary(uniqueKeysWithValues: variables.map { ("DLM_\($0)", $1) })
    let environment = ProcessInfo.processInfo.environment.merging(own) { $1 }.map { "\($0)=\($1)" }
    let texts = [command.words, environment].map { $0.map { strdup($0) } + [nil] }
    defer { for text in texts.joined() { free(text) } }
    var surroundings = Surroundings()
    let code: Int32? = Self.groups.withLock { groups in
      if groups.isEnding { return nil }
      let code = posix_spawnp(
        &process, command.words[0], &surroundings.actions, &surroundings.attributes, texts[0], texts[1])
      if code == 0 { groups.running[process] = "\(option) for \(what)" }
      return code
    }
    if let code, code != 0 {
      StandardError.say("dlm: \(option) \(command.words[0]) cannot be started: \(String(cString: strerror(code)))")
    }
    return code != nil
  }
}

extension Hooks {
  /// What a command writes to standard output; `nil` if it cannot be started or fails. Blocks until it ends.
  static func output(of words: [String]) -> [UInt8]? {
    // First, because it closes all descriptors that exist.
    var surroundings = Surroundings()
    guard let pipe = try? FileDescriptor.pipe() else { return nil }
    var process = pid_t()
    let texts = words.map { strdup($0) } + [nil]
    defer { for text in texts { free(text) } }
    posix_spawn_file_actions_adddup2(
      &surroundings.actions, pipe.writeEnd.rawValue, FileDescriptor.standardOutput.rawValue)
    posix_spawn_file_actions_addclose(&surroundings.actions, pipe.writeEnd.rawValue)
    posix_spawn_file_actions_addclose(&surroundings.actions, pipe.readEnd.rawValue)
    let code = posix_spawnp(&process, words[0], &surroundings.actions, &surroundings.attributes, texts, environ)
    try? pipe.writeEnd.close()
    defer { try? pipe.readEnd.close() }
    guard code == 0 else { return nil }
    let output = try? pipe.readEnd.bytes(upTo: 1 << 20)
    var status: Int32 = 0
    // A hook that waits for its own commands may have taken the status.
    return waitpid(process, &status, 0) == process && status != 0 ? nil : output
  }
}
