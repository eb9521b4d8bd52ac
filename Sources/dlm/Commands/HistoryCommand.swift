import ArgumentParser
import DownloadModel
import FoundationEssentials
import SystemPackage
import TerminalProgress

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Show how long the lists of this folder took, run by run.",
    discussion: """
      The runs of get and compare in this folder that went through their list and fetched something, a list at a time, \
      and how each mode's time has moved. Kept in $XDG_STATE_HOME/dlm, for you alone; the newest few hundred.

      EXAMPLES
        dlm history
        dlm history urls.txt
        dlm history --json
      """)

  @Argument(help: .value("list", "Only runs of this list (default: all of this folder)."), completion: .file())
  var list: String?

  @Option(name: [.customShort("n"), .long], help: .value("N", "The newest N of each list.")) var runs = 20
  @Flag(help: "A JSON object a line, for programs.") var json = false

  func validate() throws {
    guard runs >= 1 else { throw ValidationError("--runs needs at least 1.") }
  }

  func run() async throws {
    let store = RunHistoryStore(ProcessInfo.processInfo.environment)
    let name = list.map { RunMemory.name(of: Source($0, isList: true), store) ?? $0 }
    StandardError.say([store.warning].compactMap(\.self))
    let all = store.past.filter { past in name.map { past.sources.contains($0) } ?? true }
    let messages = HistoryMessages(runs: all, folder: store.folder, most: runs)
    if json { return try StandardOutput.write(messages.json) }
    guard !all.isEmpty else {
      let what = list.map { "of \(TerminalText.sanitized($0))" } ?? "in this folder"
      StandardError.say([
        "dlm: no run \(what) is remembered that went through its list and fetched something: dlm get LIST is one"
      ])
      throw ExitCode(ExitStatus.sourceUnreadable.rawValue)
    }
    try StandardOutput.say(messages.lines)
  }
}
