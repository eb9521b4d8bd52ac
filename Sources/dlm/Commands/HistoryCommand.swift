import ArgumentParser
import SystemPackage
import TerminalProgress

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Show this folder's runs: how much, how long, how fast.",
    discussion: """
      EXAMPLES
        dlm history
        dlm history urls.txt
        dlm history --json

      Lists the finished runs of get and compare that downloaded something, the newest last, and how the times of \
      equal work changed. The newest few hundred are kept in $XDG_STATE_HOME/dlm, readable by you alone.
      """)

  @Argument(help: .value("list", "Only runs of this list (default: all lists)."), completion: .file())
  var list: String?

  @Option(name: [.customShort("n"), .long], help: .value("N", "Only the newest N.")) var runs = 20
  @Flag(help: "As JSON, one object per line.") var json = false

  func validate() throws { guard runs >= 1 else { throw ValidationError("--runs must be at least 1.") } }

  func run() async throws {
    let store = RunHistoryStore()
    let isMeant = { (source: String) in
      guard let list else { return true }
      let wanted = Source(list, isList: true)
      return wanted == .standardInput ? store.isSpool(source) : source == RunMemory.name(of: wanted, store) ?? list
    }
    StandardError.say(store.warning)
    let all = store.past.filter { $0.sources.contains(where: isMeant) }
    let messages = HistoryMessages(
      runs: all, folder: store.folder, isPiped: store.isSpool, most: runs,
      columns: StandardOutput.terminal?.columns)
    if json { return try StandardOutput.say(json: messages.json) }
    guard !all.isEmpty else {
      let what = list.map { "of \($0)" } ?? "in this folder"
      throw Refusal("dlm: no finished run \(what) is remembered; dlm get LIST makes one", .sourceUnreadable)
    }
    try StandardOutput.say(StandardOutput.wrapped(messages.lines))
  }
}
