import ArgumentParser
import DownloadCaching
import DownloadModel

/// `--dry-run`: reads the sources and says what would be fetched under which name. No file, and no network but for lists
/// at addresses.
struct DryRun {
  private let settings: Settings
  private let outputName: String?

  private let asking: ListAtAddress.Asking

  init(_ settings: Settings, outputName: String?, asking: ListAtAddress.Asking) throws {
    self.settings = settings
    self.asking = asking
    self.outputName = outputName
  }

  func run(_ sources: [Source]) async throws -> ExitStatus {
    let ledger = FailureLedger()
    let reader = ListReader(
      sources, outputName: outputName, board: ProgressBoard(isWatched: false), asking: asking,
      spool: nil,
      onReject: { ledger.add($0) })
    let source = ListSource(reader)
    while let request = await source.next() {
      let name = request.outputName ?? FileNaming.name(of: request.address, number: request.nameNumber)
      try StandardOutput.say(rows: [[request.address.redacted, "\(settings.directory)/\(name)"]])
    }
    StandardError.say(ledger.rejections.map { RejectionWords($0).line })
    return ExitStatus(failures: [], rejections: ledger.rejections)
  }
}
