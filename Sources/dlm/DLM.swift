import ArgumentParser
import CurlTransport
import Dispatch
import Glibc

/// `dlm`: the table of contents.
@main
struct DLM: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dlm",
    abstract: "Downloads lists of files, in parallel, and shows and measures what that gains.",
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
    ])

  static func main() {
    StandardDescriptors.claim()
    // A reader that goes away is an error of that write (EPIPE), not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    // Scripts ask for the version often: it is answered before the parser looks at every option there is.
    if CommandLine.arguments.dropFirst() == ["--version"] {
      end(say(CleanExit.message(configuration.version)))
    }
    DescriptorLimit.raise()
    // Unstructured, because it is the root of the task tree; the main thread is left to be the process.
    Task { await parseAndRun() }
    dispatchMain()
  }

  private static func parseAndRun() async {
    if let words = await DescriptorLimit.prepare() {
      StandardError.say([words])
      end(ExitCode(ExitStatus.tryAgain.rawValue))
    }
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      end(.success)
    } catch {
      end(say(error))
    }
  }

  /// Says what the parser, or a command, ended with: help on standard output, what is wrong on standard error.
  /// - Returns: the exit status.
  private static func say(_ error: any Error) -> ExitCode {
    let (code, text) = (exitCode(for: error), fullMessage(for: error))
    if text.isEmpty { return code }
    guard code.isSuccess else {
      let words = UsageWords.withoutSecrets(text, Array(CommandLine.arguments.dropFirst()))
      StandardError.say(words.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
      return code
    }
    do throws(ExitCode) { try StandardOutput.write(text + "\n") } catch { return error }
    return code
  }

  private static func end(_ status: ExitCode) -> Never { Glibc.exit(status.rawValue) }
}
