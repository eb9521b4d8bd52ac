import DownloadCaching
import DownloadModel
import FileReceiving
import SystemPackage

struct DownloadOrder {
  let settings: Settings
  let sources: [Source]
  let folders: XDGFolders
  let store: RunHistoryStore
  let typed: GetCommand
  let options: RememberedOptions
  /// `nil` for an ordinary run, which is not only for a comparison.
  let plan: RepeatPlan?
  let watching: WatchOrder?

  /// `nil` for a run without the cache.
  var cacheFolder: FilePath? { settings.own.noCache ? nil : folders.cache }

  var marks: RequestMarks {
    RequestMarks(
      form: settings.form, outputName: settings.output.name, checksum: settings.own.checksum,
      checksums: settings.output.cache.receiving.checksums, first: settings.first,
      indexFolder: [.small, .large].contains(settings.order) ? cacheFolder : nil)
  }

  var readsInput: Bool { sources.contains(.standardInput) }

  var takesCommands: Bool {
    ScreenKeys.areTaken(isWanted: !settings.own.noKeys, readsInput: readsInput, by: .ofProcess)
  }

  /// `nil` if it is known only once the lists have been read.
  var fileCount: Int? { sources.allSatisfy(\.isAddress) && !settings.form.expandsRanges ? sources.count : nil }
}
