import DownloadCaching
import DownloadModel
import FileReceiving

/// Downloads the last list of a folder once more in another mode, to compare.
struct RepeatPlan {
  let mode: DownloadMode
  let other: DownloadMode
  /// `nil` if the other mode never downloaded the whole list.
  let otherRun: PastRun?
  let ownRun: PastRun?
  let list: String

  var sizes: ExpectedSizes? { (otherRun ?? ownRun)?.sizes }

  var bytes: Int64 { sizes?.bytes ?? 0 }

  /// Why a list that is used again is not repeated for a comparison.
  enum NotRepeated: Error {
    /// The mode is the last run's; or the user requested new downloads, or only cached files.
    case notAsked
    case because(Reason, other: DownloadMode)

    enum Reason: String, CaseIterable {
      case cutShort = "its run was cut short, skipped files, or downloaded none"
      case otherFolder = "its files are in another folder"
      case otherList = "the list has changed since"
      case readOnce = "the list can be read only once"
      case sameStrategy = "both modes run a task group"
      case waited = "its run waited for a busy server"
    }
  }
}

extension RepeatPlan {
  init(
    _ last: LastList, _ sources: [Source], _ settings: Settings, noCompare: Bool, fetching: ListAtAddress.Fetching
  ) async throws(NotRepeated) {
    guard !noCompare, !settings.output.cache.receiving.refresh, !settings.output.cache.offline,
      let other = last.history.command.mode, other != settings.mode
    else { throw .notAsked }
    func because(_ reason: NotRepeated.Reason) -> NotRepeated { .because(reason, other: other) }
    if other.kind == settings.mode.kind { throw because(.sameStrategy) }
    guard let run = last.history.last else { throw because(.cutShort) }
    guard run.directory == RunMemory.canonical(settings.output.directory) else { throw because(.otherFolder) }
    guard !sources.contains(where: \.isReadOnce) else { throw because(.readOnce) }
    let digest = await ListReader.digest(of: sources, settings.form, fetching: fetching)
    guard digest == run.listDigest else { throw because(.otherList) }
    let times = last.store.times(of: run.listDigest)
    mode = settings.mode
    self.other = times[other] == nil ? other.kind : other
    otherRun = times[self.other]
    ownRun = times[mode]
    if otherRun?.waited != nil { throw because(.waited) }
    list = last.names
  }
}
