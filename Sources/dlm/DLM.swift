import ArgumentParser
import CurlTransport
import Glibc

/// `dlm`: the table of contents.
@main
struct DLM: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dlm", abstract: "Downloads lists of files, in parallel, and shows and measures what that gains.",
    discussion: """
      EXAMPLES
        dlm get urls.txt --mode parallel   a list, as many files at a time as help
        dlm get --mode sequential          the same list again, one by one, to compare
        dlm get -o disk.iso https://a/b    one file, under a name of your choice
        make-list | dlm get - -d photos    addresses from a pipe, into a folder
        dlm compare urls.txt               the three modes on your list, measured
        dlm demo                           all of it, without network
      """,
    version: "dlm \(version) (libcurl \(CurlTransport.libcurlVersion))",
    subcommands: [
      GetCommand.self, CompareCommand.self, DemoCommand.self, CacheCommand.self, ClearCacheCommand.self,
      HistoryCommand.self, ConfigCommand.self,
    ])

  static func main() {
    StandardDescriptors.claim()
    // If a reader goes away, that is an error of the write (EPIPE) and must not end the process.
    signal(SIGPIPE, SIG_IGN)
    // Scripts ask for the version often: it is answered before the parser looks at every option there is.
    if CommandLine.arguments.dropFirst() == ["--version"] { end(write(configuration.version)) }
    DescriptorLimit.raise()
    // Unstructured, because it is the root of the task tree; detached, because the main thread serves no actor. It is
    // left to be the process, and waits: its end (`dispatchMain`) would have the allocator put away all that it has.
    // The user waits for this task, and a thread that it starts inherits its priority.
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
        // By its type: whether a type is of a protocol, the runtime must look for among all conformances.
        try await get.run()
      } else if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        var command = command
        try command.run()
      }
      end(.success)
    } catch let mistake as ValidationError {
      // The parser would add how dlm is used, without a word on this command.
      let name = parsed.map { CommandLineParse.name(of: $0) } ?? "dlm"
      end(say(["Error: \(mistake.message)", UsageMessages.seeHelp(name)]))
    } catch {
      end(say(error))
    }
  }

  private static func say(_ mistake: [String]) -> ExitCode {
    let arguments = Array(CommandLine.arguments.dropFirst())
    StandardError.say(mistake.map { UsageMessages.withoutSecrets($0, arguments) })
    return ExitCode(ExitStatus.usage.rawValue)
  }

  /// Says what the parser, or a command, ended with: help on standard output, what is wrong on standard error.
  private static func say(_ error: any Error) -> ExitCode {
    // Most commands end with one, of which nothing is said; the parser would make its usage text all the same.
    if let code = error as? ExitCode { return code }
    let (code, text) = (exitCode(for: error), fullMessage(for: error))
    if text.isEmpty { return code }
    guard code.isSuccess else {
      let shown = UsageMessages.withoutSecrets(text, Array(CommandLine.arguments.dropFirst()))
      StandardError.say(shown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
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

/// How many files and connections this process may have open.
private enum DescriptorLimit {
  /// Takes what the system allows at most (RLIMIT_NOFILE's hard limit): the usual soft limit of 1024 is for programs
  /// that use select(2), and a run of many large files in segments may need more.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max
    else { return }
    limit.rlim_cur = limit.rlim_max
    // Refused, the run goes on with what it has; a connection too many is a failure that names its address.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// What a run needs before its first file: loops, timers, signals, folders, the index, its list; and one file with
  /// its connection. With fewer, libraries that cannot say so would fail at random: libdispatch, for one, ends the
  /// process.
  private static let least = 25

  /// Sees to what a run needs where descriptors are few; elsewhere it costs one system call.
  /// - Returns: what to say where there are too few for any run.
  static func prepare() async -> String? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < 256 else { return nil }
    let free = (0..<Int32(limit.rlim_cur)).count { fcntl($0, F_GETFD) < 0 }
    guard free >= least else { return TroubleMessages.tooFewDescriptors(free, least: least) }
    // libdispatch takes descriptors for its timers at the first sleep, which would never end if none were left then.
    try? await ContinuousClock().sleep(for: .nanoseconds(1))  // the root task is never cancelled
    return nil
  }
}
