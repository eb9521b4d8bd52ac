import DownloadModel

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
