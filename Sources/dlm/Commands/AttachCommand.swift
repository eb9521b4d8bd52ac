import ArgumentParser
import DownloadModel
import RunDoors
import TerminalProgress

struct AttachCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "attach", abstract: "Watch a download that runs elsewhere, with its keys.",
    discussion: """
      EXAMPLES
        dlm attach 3
        dlm attach                the run of this folder, or the only one
        ssh -t host dlm attach    from elsewhere

      It shows what dlm get would show. b or Ctrl-C leaves, and the download goes on; q stops the download. Without a \
      terminal its lines are written to the end. The exit status is that of the download, or 0 after leaving.
      """)

  @OptionGroup var which: RunArgument
  @Option(name: OptionTable.row("progress").names, help: .value("style", "auto, bars, plain or json.")) var progress =
    ProgressStyle.auto

  func run() async throws {
    let run = try RunChoice.attachable(which.run).record
    let viewer = RunViewer(run, progress)
    guard let connection = try? RunStatus.connection(to: run) else { throw try await viewer.say(ended: nil) }
    throw try await viewer.show(connection)
  }
}
