import ArgumentParser
import CurlTransport
import DownloadCaching
import DownloadModel
import Foundation
import TerminalProgress

struct GetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Download lists of files.",
    discussion: """
      A SOURCE is a list file (an address a line; a line that starts with # is a comment), - for standard input, or an address. \
      Without one: the list that the last get in this folder used, with its options; what is given now wins, and \
      what may be secret (-H, logins) is to be given again. Standard input is read for - only.

      Did that run end well in another mode, the list is repeated to compare: everything is fetched again into a \
      scratch folder, compared with what is here, and dropped; your files stay as they are, and the end says how the two \
      modes compare. --no-compare only fetches what is missing or has changed.

      A second run fetches nothing that has not changed; an interrupted one goes on where it was. Unfinished \
      files end in .part.

      MODES
        sequential   one file at a time over one connection, never split
        async-let    lanes of async let, each a loop over the shared list
        parallel     a task group, a task a file (default; also: task-group)

      EXAMPLES
        dlm get urls.txt --mode parallel
        dlm get --mode sequential
        dlm get urls.txt --mode async-let --jobs 32 --directory data
        dlm get -o disk.iso https://example.org/images/latest.iso
        dlm get https://example.org/pub/urls.txt --list
        dlm get urls.txt --checksums SHA256SUMS --failed again.txt

      EXIT STATUS
        0 everything there and right; 1 something failed for good, or is not what was compared with; 75 only failures that may pass; 64 usage; \
      66 a source cannot be read; 73 the folder cannot be used; 74 the disk is full or broken, or output cannot be written; 130, 143 \
      interrupted, terminated (what has come is kept).
      """)

  @Argument(
    help: ArgumentHelp("A list file, - for standard input, or an address.", valueName: "source"),
    completion: .file())
  var sources: [String] = []

  @Option(name: .shortAndLong, help: ArgumentHelp("How to run the list.", valueName: "mode"))
  var mode: DownloadMode?

  @Flag(
    help:
      "Addresses given are those of lists; their lines may be relative, and --header is for their servers only."
  )
  var list = false

  @OptionGroup(title: "Output") var output: OutputOptions
  @OptionGroup(title: "Proof") var proof: ProofOptions
  @OptionGroup(title: "Connections") var connection: ConnectionOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  @Flag(help: "Without a source: fetch only what is missing or changed, also after a run in another mode.")
  var noCompare = false

  @Flag(help: "Say what would be fetched under which name, and fetch nothing.")
  var dryRun = false

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let folders = XDGFolders(environment)
    let store = RunHistoryStore(
      state: folders.state, folder: FileManager.default.currentDirectoryPath)
    guard sources.isEmpty else { return try await get(environment, folders, store, again: nil, typed: self) }
    let last = try LastList(store)
    try await last.command(self).get(environment, folders, store, again: last, typed: self)
  }

  /// - Parameters:
  ///   - again: the list is taken again, because none is named.
  ///   - typed: the command without what is remembered.
  private func get(
    _ environment: [String: String], _ folders: XDGFolders, _ store: RunHistoryStore, again: LastList?,
    typed: GetCommand
  ) async throws {
    var settings = try Settings(
      mode, connection, output, display, try await .load(environment: environment), proof)
    let arguments = self.sources
    let sources = arguments.map { Source($0, isList: list) }
    settings.transport.headerHomes = Source.homes(of: sources)
    let asking = ListAtAddress.Asking(settings, environment: environment)
    if let name = output.output {
      guard FileNaming.isUsable(name) else {
        throw ValidationError(
          "--output \"\(name)\" is no file name; name the folder with --directory, and the file without slashes."
        )
      }
      guard sources.count == 1, case .address = sources[0] else {
        throw ValidationError("--output names the file of a single address; use --directory for a list.")
      }
    }
    if proof.checksum != nil {
      guard sources.count == 1, case .address = sources[0] else {
        throw ValidationError("--checksum is of a single address; use --checksums FILE for a list.")
      }
    }
    if let path = proof.checksums { settings.checksums = try ChecksumFile.read(path) }
    if dryRun {
      throw ExitCode(
        try await DryRun(settings, outputName: output.output, asking: asking).run(sources).rawValue)
    }
    var plan: RepeatPlan?
    if let again {
      plan = await RepeatPlan(again, sources, settings, asking: asking, noCompare: noCompare)
      if plan == nil, settings.progress != .none { StandardError.say([RepeatWords.again(again)]) }
    }
    let run = GetRun(
      settings: settings, outputName: output.output, environment: environment, folders: folders, store: store,
      failedList: try display.failed.map(FailedListFile.init), isVerbose: display.verbose, typed: typed,
      options: RememberedOptions(self), plan: plan)
    throw ExitCode(await run.run(sources, named: arguments).rawValue)
  }
}
