import ArgumentParser

struct CompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Measure the three modes on your own list.",
    discussion: """
      EXAMPLES
        dlm compare urls.txt
        dlm compare urls.txt --runs 5 --jobs 32

      Downloads the list in each mode, several times and in turn, into a scratch folder below $TMPDIR, without the \
      cache. Checks that every run got the same bytes, prints a table, and deletes the files. --verbose, or a high \
      window, adds a picture of each file's time. Without a source: the list of the last get in this folder. An empty \
      list is an error (66).

      First it says how much it downloads and how long that takes, as far as known. At a terminal it asks before more \
      than 1 GiB.
      """)

  @Argument(help: .value("source", "A list file, - for standard input, or a URL."), completion: .file())
  var sources: [String] = []

  @Flag(help: "The given URLs are lists, not files.") var list = false
  @Flag(help: "Download more than 1 GiB without asking.") var yes = false
  @OptionGroup var lists: ListOptions
  @OptionGroup var measuring: MeasuringOptions
  @OptionGroup var shared: RunOptions

  func run() async throws {
    let sources = try namedOrLast()
    var settings = try Settings(measuring: shared, sources, .load(), reading: lists)
    _ = await settings.form.findHostsByLine(in: sources)
    let failures = FailureLog()
    let reader = ListReader(
      sources, RequestMarks(form: settings.form), fetching: Wiring.listFetching(settings),
      onReject: { failures.add($0) })
    let requests = await reader.all()
    let digest = await reader.listDigest
    StandardError.say(RejectionMessages.downgrades(await reader.downgrading))
    let rejected = failures.sayRejections()
    guard !requests.isEmpty else {
      if rejected != .sourceUnreadable {
        let lists = sources.map(\.name).joined(separator: ", ")
        StandardError.say("dlm: \(lists): no URLs, so there is nothing to compare")
      }
      throw rejected == .success ? ExitStatus.sourceUnreadable : rejected
    }
    let store = RunHistoryStore()
    let names = sources.compactMap { RunMemory.name(of: $0, store) }
    let session = ComparisonSession(requests, of: names.joined(separator: " "), settings, measuring)
    let cost = ComparisonSession.Cost(requests, session.plan, store.past, digest)
    settings.say([cost.line])
    if cost.isLarge, !yes, StandardError.isTerminal, TerminalPrompt.confirm("Download that? [y/N] ") == false {
      throw Refusal("dlm: nothing was downloaded", .failed)
    }
    let status = try await session.run { report in
      let past = PastRun.all(of: report, settings, sources: names, listDigest: digest)
      do { try store.append(past.map { .ended(run: nil, $0) }) } catch {
        if settings.shared.verbose { RunLog().historyNotSaved(error) }
      }
    }
    throw status == .success ? rejected : status
  }

  private func namedOrLast() throws -> [Source] {
    if !sources.isEmpty { return sources.map { Source($0, isList: list || !lists.accept.isEmpty) } }
    let last = try LastList(RunHistoryStore())
    try last.requireWithheld(shared)
    StandardError.say("Comparing with the last list of this folder: \(last.names)")
    let isList = last.history.command.options.contains("--list")
    return last.history.command.sources.map { Source($0, isList: isList) }
  }
}
