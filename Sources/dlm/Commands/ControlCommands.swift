import ArgumentParser
import DownloadModel
import Glibc
import RunDoors
import TerminalProgress

struct StopCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stop", abstract: "Stop a download; partial files are saved, and dlm resume goes on with it.",
    discussion: """
      EXAMPLES
        dlm stop 3
        dlm stop                  the run of this folder, or the only one
      """)

  @OptionGroup var which: RunArgument

  func run() async throws {
    let run = try RunChoice.living(which.run).record
    do throws(RunVisit.Failure) {
      let visit = try await RunVisit(run)
      _ = try await visit?.ask(["do": "stop"])
      _ = try await visit?.end()
    } catch .unreachable {
      kill(run.process.number, SIGTERM)
      while run.process.isAlive { try await Task.sleep(for: .milliseconds(50)) }
    }
    try StandardOutput.say([
      "run \(run.number), into \(run.directory), is stopped: dlm resume \(run.number) goes on with it"
    ])
  }
}

struct PauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Pause a download until dlm resume.",
    discussion: """
      EXAMPLES
        dlm pause 3
        dlm pause                 the run of this folder, or the only one

      Its connections stay open for as long as the servers keep them; what they close is resumed.
      """)

  @OptionGroup var which: RunArgument

  func run() async throws {
    let run = try RunChoice.living(which.run).record
    try await RunVisit.tell(run, "pause")
    try StandardOutput.say(["run \(run.number) is paused: dlm resume \(run.number) goes on with it"])
  }
}

struct RetryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Try the failed files of a download again.",
    discussion: """
      EXAMPLES
        dlm retry 3
        dlm retry                 the run of this folder, or the only one

      In a running download at once; one that has ended goes on as with dlm resume.
      """)

  @OptionGroup var which: RunArgument

  func run() async throws {
    let all = RunStatus.all()
    guard let run = try RunChoice.waiting(which.run, all)?.record else {
      return try await ResumeCommand.goOn(with: try RunChoice.ended(which.run, all).record)
    }
    let count = try await RunVisit.tell(run, "retry").files ?? 0
    try StandardOutput.say(["run \(run.number): \(Quantity.files(count)) tried again"])
  }
}

/// The argument of commands for one run.
struct RunArgument: ParsableArguments {
  @Argument(help: .value("run", "The number of a run; without it, this folder's run or the only one.")) var run: Int?
}
