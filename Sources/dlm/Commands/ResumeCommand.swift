import ArgumentParser
import DownloadModel
import Glibc
import RunDoors
import SystemPackage

struct ResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Go on with a download that is paused, was stopped, or was killed.",
    discussion: """
      EXAMPLES
        dlm resume 3
        dlm resume 3 --detach     in the background
        dlm resume 3 -- -H 'Authorization: Bearer …'

      A run that has ended goes on in its folder, with its list and its options; only what is missing is downloaded. \
      What stands after -- is added to its options: secrets, which dlm does not keep, must be given again.
      """)

  @OptionGroup var which: RunArgument
  @Flag(help: "Go on in the background.") var detach = false
  @Argument(parsing: .postTerminator, help: .value("option", "Further options of dlm get.")) var more: [String] = []

  func run() async throws {
    let all = RunStatus.all()
    guard let run = try RunChoice.waiting(which.run, all) else {
      return try await Self.goOn(
        with: try RunChoice.ended(which.run, all).record, more, detached: detach)
    }
    let number = run.record.number
    guard run.state == .paused else {
      throw ValidationError("run \(number) is running: dlm attach \(number) shows it")
    }
    try await RunVisit.tell(run.record, "resume")
    try StandardOutput.say(["run \(number) goes on"])
  }

  /// - Parameter more: further options of `dlm get`.
  static func goOn(with record: RunRecord, _ more: [String] = [], detached: Bool = false) async throws {
    guard chdir(record.startedIn) == 0 else {
      throw Refusal(
        "dlm: \(record.startedIn): \(Errno(rawValue: errno)); run \(record.number) was started in that folder",
        .folderUnusable)
    }
    // By the option's name: `-H 'Authorization: …'`.
    let missing = record.withheld.filter { secret in !more.contains { secret.hasPrefix($0.prefix { $0 != "=" }) } }
    if !missing.isEmpty {
      StandardError.say(
        "dlm: run \(record.number) had secrets, which dlm does not keep: if it needs them, give them again after --: "
          + missing.joined(separator: ", "))
    }
    let words = record.words + more + (detached ? ["--detach"] : [])
    guard var get = try CommandLineParse.command(["get"] + words) as? GetCommand else { return }
    get.resumed = record.number
    try await get.run()
  }
}
