import ArgumentParser
import CurlTransport
import Dispatch

/// `dlm`: the table of contents.
@main
struct DLM: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "dlm",
    abstract: "Downloads lists of files, in parallel, and shows and measures what that gains.",
    discussion: """
      EXAMPLES
        dlm get urls.txt                   a list, as many files at a time as help
        dlm get --mode sequential          the same list again, one by one
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
    // Scripts ask for the version often: it is answered before the parser looks at every option there is.
    if CommandLine.arguments.dropFirst() == ["--version"] { return print(configuration.version) }
    DescriptorLimit.raise()
    // Unstructured, because it is the root of the task tree; the main thread is left to be the process.
    Task { await parseAndRun() }
    dispatchMain()
  }

  private static func parseAndRun() async {
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      exit()
    } catch {
      exit(withError: error)
    }
  }
}
