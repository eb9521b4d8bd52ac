import ArgumentParser
import DownloadModel
import RunDoors

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show your downloads on this machine.",
    discussion: """
      EXAMPLES
        dlm status
        dlm status 3              also its files
        dlm status --watch        again each second, until Ctrl-C
        dlm status --json
        dlm ls                    the same as dlm status

      One line each: its number, its state, its list, how much is done, the rate, the time left, and its folder. Those \
      that have ended come last, for 30 days: all that can be resumed, and the newest 20 others. A download is shown \
      after its first second.
      """)

  @Argument(help: .value("run", "The number of a run.")) var run: Int?
  @Flag(help: "Show it again each second.") var watch = false
  @Flag(help: "As JSON, one object per line.") var json = false

  func run() async throws {
    repeat {
      try say()
      // A clock's sleep ends early only for a cancelled task.
      if watch { try? await Task.sleep(for: .seconds(1)) }
    } while watch
  }

  private func say() throws {
    var runs = RunStatus.all()
    if let run {
      runs.removeAll { $0.record.number != run }
      if runs.isEmpty { throw ValidationError("run \(run) is not known; dlm status lists all") }
    }
    runs = runs.filter(\.isAlive) + runs.filter { !$0.isAlive }.reversed()
    if json { return try StandardOutput.say(json: runs.map(\.json)) }
    if runs.isEmpty { return try StandardOutput.say(["no download is running"]) }
    try StandardOutput.say(RunStatus.lines(runs) + (run == nil ? [] : runs[0].files))
  }
}
