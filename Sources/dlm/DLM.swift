import ArgumentParser
import CurlTransport
import Glibc

@main
struct DLM: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dlm", abstract: "Downloads lists of files in parallel, and shows and measures what that gains.",
    version: "dlm \(version) (libcurl \(CurlTransport.libcurlVersion))",
    subcommands: [
      GetCommand.self, AddCommand.self, CompareCommand.self, DemoCommand.self, CacheCommand.self,
      ClearCacheCommand.self, HistoryCommand.self, MergeCommand.self, ConfigCommand.self,
    ])

  static func main() {
    StandardDescriptors.claim()
    // A reader that goes away is an error of the write (EPIPE), and must not end the process.
    signal(SIGPIPE, SIG_IGN)
    // Scripts ask for the version often, and the parser would first look at every option.
    if CommandLine.arguments.dropFirst() == ["--version"] { end(write(configuration.version)) }
    // Detached, because the main thread serves no actor; to end that (`dispatchMain`) has the allocator put away all
    // that it has. The user waits for the task, and its threads inherit its priority.
    Task.detached(priority: .userInitiated) { await parseAndRun() }
    while true { pause() }
  }

  private static func parseAndRun() async {
    if let trouble = await DescriptorLimit.prepare() {
      StandardError.say([trouble])
      end(ExitCode(ExitStatus.tryAgain.rawValue))
    }
    var parsed: (any ParsableCommand)?
    do {
      let command = try CommandLineParse.command(Array(CommandLine.arguments.dropFirst()))
      parsed = command
      if let get = command as? GetCommand {
        // The dynamic cast below has the runtime search all conformances, so the usual command goes before it.
        try await get.run()
      } else if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
      end(.success)
    } catch let mistake as ValidationError {
      // The parser would add its own usage text, which does not name this command.
      let name = parsed.map { CommandLineParse.name(of: $0) } ?? "dlm"
      end(say([UsageMessages.mistake(mistake.message), "  See \(name) --help"]))
    } catch { end(say(error)) }
  }

  private static func say(_ mistake: [String]) -> ExitCode {
    let arguments = Array(CommandLine.arguments.dropFirst())
    StandardError.say(mistake.map { UsageMessages.withoutSecrets($0, arguments) })
    return ExitCode(ExitStatus.usage.rawValue)
  }

  private static func say(_ error: any Error) -> ExitCode {
    // Most commands end with one; `fullMessage` would make its whole usage text for nothing.
    if let code = error as? ExitCode { return code }
    let (code, words) = (exitCode(for: error), Array(CommandLine.arguments.dropFirst()))
    let parsers = fullMessage(for: error, columns: code.isSuccess ? HelpText.unwrapped : nil)
    let text = code.isSuccess ? HelpText.shown(parsers, words) : OptionHint.added(to: parsers, words)
    if text.isEmpty { return code }
    guard code.isSuccess else {
      _ = say(UsageMessages.lines(ofParser: text))
      return code
    }
    let written = write(text)
    return written.isSuccess ? code : written
  }

  private static func write(_ text: String) -> ExitCode {
    do throws(ExitCode) { try StandardOutput.write(text + "\n") } catch { return error }
    return .success
  }

  private static func end(_ status: ExitCode) -> Never { Glibc.exit(status.rawValue) }
}

private enum DescriptorLimit {
  /// What a run needs for one file. With fewer, libraries fail at random: libdispatch, for one, ends the process.
  private static let least = 25

  /// Raises the soft limit (usually 1024, for programs that use select(2)) to the hard one: large files in segments may
  /// need more. Where descriptors are few, takes those that libraries need later.
  /// - Returns: what to say where there are too few for any run.
  static func prepare() async -> String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    limit.rlim_cur = limit.rlim_max
    // If refused, a connection too many is a failure that names its address.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_cur < 256 else { return nil }
    let free = (0..<Int32(limit.rlim_cur)).count { fcntl($0, F_GETFD) < 0 }
    guard free >= least else {
      return "dlm: too many open files: \(free) more may be opened, and a run needs \(least); allow more with ulimit -n"
    }
    // libdispatch takes descriptors for its timers at the first sleep; without any left, that would never end.
    try? await ContinuousClock().sleep(for: .nanoseconds(1))  // the root task is never cancelled
    return nil
  }
}
