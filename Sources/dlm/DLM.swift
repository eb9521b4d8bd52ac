import ArgumentParser
import CurlTransport
import Glibc
import RunDoors

@main
struct DLM: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dlm", abstract: "Download lists of files in parallel, and measure what that gains.",
    discussion: "dlm LIST and dlm URL are short for dlm get.",
    version: "dlm \(version) (libcurl \(CurlTransport.libcurlVersion))",
    subcommands: [
      GetCommand.self, AddCommand.self, CompareCommand.self, DemoCommand.self, CacheCommand.self,
      ClearCacheCommand.self, HistoryCommand.self, StatusCommand.self, AttachCommand.self, StopCommand.self,
      PauseCommand.self, ResumeCommand.self, RetryCommand.self, ServeCommand.self, RenameCommand.self,
      MergeCommand.self, ConfigCommand.self,
      CompletionCommand.self,
    ])

  /// After the name of the program.
  static let words = DetachedStart.words

  static func main() {
    StandardDescriptors.claim()
    // A reader that goes away is an error of the write (EPIPE), and must not end the process.
    signal(SIGPIPE, SIG_IGN)
    // Scripts often ask for the version, and the parser would first examine every option.
    if ["--version", "-V"].contains(where: { words == [$0] }) {
      end(write(configuration.version))
    }
    // Before the first thread, which may not start without it.
    if let trouble = MemoryLimit.trouble { end(tryAgain(trouble)) }
    // The user waits for the task, and its threads inherit its priority.
    let mainThread = MainThread()
    Task.detached(executorPreference: mainThread, priority: .userInitiated) { await parseAndRun() }
    mainThread.run()
  }

  private static func parseAndRun() async {
    if let trouble = await DescriptorLimit.prepare() { end(tryAgain(trouble)) }
    var parsed: (any ParsableCommand)?
    do {
      let command = try CommandLineParse.command(words)
      parsed = command
      if let get = command as? GetCommand {
        // The dynamic cast below makes the runtime search all conformances, so the most common command goes before it.
        try await get.run()
      } else if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
      end(.success)
    } catch let status as ExitStatus {
      end(status)
    } catch let refusal as Refusal {
      StandardError.say([refusal.line] + refusal.further)
      end(refusal.status)
    } catch let failure as RunVisit.Failure {
      StandardError.say(failure.refusal.line)
      end(failure.refusal.status)
    } catch let mistake as ValidationError {
      // The parser would add its own usage text, which does not name this command.
      let name = parsed.map { CommandLineParse.name(of: $0) } ?? "dlm"
      end(say([UsageMessages.mistake(mistake.message), "  See \(name) --help"]))
    } catch { end(say(error)) }
  }

  private static func tryAgain(_ trouble: String) -> ExitStatus {
    StandardError.say(trouble)
    return .tryAgain
  }

  private static func say(_ mistake: [String]) -> ExitStatus {
    StandardError.say(mistake.map { UsageMessages.withoutSecrets($0, words) })
    return .usage
  }

  private static func say(_ error: any Error) -> ExitStatus {
    let code = exitCode(for: error)
    let parsers = fullMessage(for: error, columns: code.isSuccess ? HelpText.unwrapped : nil)
    let text = code.isSuccess ? HelpText.shown(parsers, words) : OptionHint.added(to: parsers, words)
    // The parser exits with 0, or 64 for a mistake; the status of any other error is 1.
    let status = ExitStatus(rawValue: code.rawValue) ?? .failed
    if text.isEmpty { return status }
    if code.isSuccess { return write(text) }
    _ = say(UsageMessages.lines(ofParser: text))
    return status
  }

  private static func write(_ text: String) -> ExitStatus {
    do { try StandardOutput.write(text + "\n") } catch { return error }
    return .success
  }

  private static func end(_ status: ExitStatus) -> Never { Glibc.exit(status.rawValue) }
}

private enum MemoryLimit {
  /// For the stacks and reserves of all threads. With less, libdispatch waits for its first thread forever, or a
  /// library uses memory that it did not get.
  private static let least: rlim_t = 512 << 20

  /// A message if the user allows too little address space for any run.
  static var trouble: String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur < least else { return nil }
    return "dlm: too little memory: ulimit -v allows \(limit.rlim_cur >> 20) MiB, and a run needs \(least >> 20) MiB; "
      + "allow more with ulimit -v \(least >> 10)"
  }
}

private enum DescriptorLimit {
  /// The descriptors of a run for one file. With fewer, libraries fail at random: libdispatch, for one, ends the
  /// process.
  private static let least = 29

  /// Raises the soft limit (usually 1024, for programs that use select(2)) to the hard one: large files in segments may
  /// need more. If descriptors are few, reserves those that libraries need later.
  /// - Returns: a message if there are too few for any run.
  static func prepare() async -> String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    limit.rlim_cur = limit.rlim_max
    // If refused, a connection beyond the limit is a failure that names its URL.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < 256 else { return nil }
    let free = (0..<Int32(limit.rlim_cur)).count { fcntl($0, F_GETFD) < 0 }
    guard free >= least else {
      return "dlm: too many open files: \(free) more may be opened, and a run needs \(least); allow more with ulimit -n"
    }
    // libdispatch opens descriptors for its timers at the first sleep; without any left, that would never end.
    try? await ContinuousClock().sleep(for: .nanoseconds(1))  // the root task is never cancelled
    return nil
  }
}
