import ArgumentParser
import DownloadModel
import FoundationEssentials
import Glibc
import RunDoors
import SystemPackage

struct AddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add URLs or a list to a download that is running, or change its limits.",
    discussion: """
      EXAMPLES
        dlm add https://example.org/a.iso
        dlm add -d data https://example.org/b.iso https://example.org/c.iso
        dlm add --run 3 --list more.txt
        dlm add --limit-rate 2M

      They are downloaded like further lines of its list; URLs that it already has are not downloaded twice. Without \
      -d and --run, the run is the one that downloads into this folder or was started in it.
      """)

  @Argument(help: .value("url", "What to download.")) var addresses: [String] = []
  @Option(
    name: OptionTable.row("directory").names, help: .value("dir", "The folder of that run."), completion: .directory)
  var directory: String?
  @Option(name: .customLong("run"), help: .value("run", "The number of that run (dlm status).")) var number: Int?
  @Option(help: .value("file", "A list of further URLs."), completion: .file()) var list: String?
  @Option(
    name: OptionTable.row("limit-rate").names,
    help: .value("rate", "Limit the run to this from now on: 500K, HOST=2M, none; may be repeated"))
  var limitRate: [RateLimit] = []

  func run() async throws {
    try check()
    let get = try GetCommand.parse(directory.map { ["--directory=\($0)"] } ?? [])
    let folder = try Settings(get, [], .load()).output.directory
    // A run that has just started is found after its first second.
    for _ in 0..<30 {
      for run in try runs(in: folder) {
        if try await tell(run) { return }
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw ValidationError(
      number.map { "run \($0) is not running; dlm status lists all" } ?? UsageMessages.noRun(in: folder))
  }

  private func check() throws {
    if addresses.isEmpty, limitRate.isEmpty, list == nil {
      throw ValidationError("dlm add needs a URL, --list or --limit-rate")
    }
    if limitRate.contains(where: { $0.hours != nil }) {
      throw ValidationError("a limit that changes with the clock is an option of dlm get: give a rate without hours")
    }
    if let text = addresses.first(where: { !Source.isFetchable($0) }) {
      let text = Redaction.redactedAddress(text)
      throw ValidationError("\"\(text)\" is not a URL (https://…); dlm add --list \(text) adds a list")
    }
    if let list, access(list, R_OK) != 0 {
      throw Refusal("dlm: \(UsageMessages.unreadable("--list", list, "\(Errno(rawValue: errno))"))", .sourceUnreadable)
    }
  }

  /// - Throws: `ValidationError` if several may be meant.
  private func runs(in folder: String) throws -> [RunRecords.Found] {
    let all = RunStatus.records?.all().filter(\.isAlive) ?? []
    if let number { return all.filter { $0.record.number == number } }
    let path = RunMemory.canonical(folder) ?? folder
    let inFolder = all.filter { $0.record.directory == path }
    guard inFolder.isEmpty, directory == nil else { return inFolder }
    let here = RunMemory.canonical(".")
    let found = all.filter { $0.record.startedIn == here }
    let folders = Set(found.map(\.record.directory)).sorted()
    guard folders.count > 1 else { return found }
    throw ValidationError(
      "several downloads were started in this folder; choose one with -d: \(folders.joined(separator: ", "))")
  }

  /// - Returns: false if the run has ended.
  private func tell(_ run: RunRecords.Found) async throws -> Bool {
    guard let visit = try await RunVisit(run.record) else { return false }
    let name = "the run in \(directory ?? run.record.directory)"
    if !limitRate.isEmpty {
      guard try await visit.ask(["do": "limit", "limits": limitRate.map(\.description)]) != nil
      else { return false }
      try StandardOutput.say([QuestionMessages.limited(limitRate, name)])
    }
    guard !addresses.isEmpty || list != nil else { return true }
    let path = list.map { FilePath(RunMemory.canonical(".") ?? "").pushing(FilePath($0)).string }
    let answer = try await visit.ask(["do": "add", "urls": addresses, "list": path])
    guard let answer else { return false }
    let addition = Addition(
      added: answer.added ?? 0, known: answer.known ?? 0, rejected: answer.rejected ?? [])
    try StandardOutput.say([QuestionMessages.added(addition, to: name)])
    StandardError.say(addition.rejected.map { "dlm: \($0)" })
    if !addition.rejected.isEmpty { throw ExitStatus.failed }
    return true
  }
}
