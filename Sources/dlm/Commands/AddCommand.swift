import ArgumentParser
import DownloadCaching
import DownloadModel
import SystemPackage

struct AddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add addresses to the run that is under way in this folder.",
    discussion: """
      They join it as if they stood at the end of its list. What it has already is not fetched twice. A run with \
      --no-cache takes none.

      EXAMPLES
        dlm add -d data https://example.org/b.iso https://example.org/c.iso
      """)

  @Argument(help: .value("address", "What to fetch.")) var addresses: [String]
  @Option("directory") var directory: String?

  func run() async throws {
    if let text = addresses.first(where: { !Source.isFetchable($0) }) {
      let text = Redaction.redactedAddress(text)
      throw ValidationError("\(text) is no address; it looks like https://host.example/file")
    }
    let get = try GetCommand.parse(directory.map { ["--directory=\($0)"] } ?? [])
    let folder = try Settings(get, [], .load()).output.directory
    let path = RunMemory.canonical(folder) ?? folder
    guard let state = XDGFolders().state.map(RunningSnapshots.folder(below:)) else {
      throw ValidationError(UsageMessages.noRun(in: folder))
    }
    // One that has just begun is found after its first second.
    for _ in 0..<30 {
      for run in RunningDownloads.all(in: state) where run.directory == path {
        let files: (added: Int, known: Int)?
        do throws(Errno) { files = try await run.add(addresses, in: state) } catch {
          throw Refusal(
            "dlm: nothing was added: \(state) cannot be written: \(error); mend that and add again, or dlm get them "
              + "afterwards")
        }
        if let files { return try StandardOutput.say([QuestionMessages.added(files, to: "the run in \(folder)")]) }
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw ValidationError(UsageMessages.noRun(in: folder))
  }
}
