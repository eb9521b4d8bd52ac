package import DownloadModel

/// The user's decision about a finished file with a numbered name.
package enum NameDecision: Equatable {
  /// The file keeps its name.
  case keep
  /// It gets the name that it should have had; the existing file under that name is lost.
  case replace
  /// It is removed; the existing file under the wanted name stays.
  case discard
  /// It gets another name, if that is free.
  case rename(to: String)

  /// - Returns: the file's name afterwards; `nil` if it was removed.
  /// - Throws: `.disk` with EEXIST if the new name is taken; `.disk`, `.folder`.
  package func carryOut(
    _ outcome: DownloadOutcome, in directory: OutputDirectory, for address: Address
  ) throws(DownloadError) -> String? {
    let folder = directory.folder
    let old = outcome.name
    let new: String? =
      switch self {
      case .keep: old
      case .discard: nil
      case .replace: outcome.wantedName
      case .rename(let name): name
      }
    if let new, FileNaming.areSame(new, old) { return old }
    do {
      switch (self, new) {
      case (.replace, let new?): try folder.rename(old, replacing: new)
      case (_, let new?): try folder.rename(old, toFree: new)
      case (_, nil): try folder.remove(old)
      }
    } catch { throw directory.failure(error, new == nil ? "removing" : "naming", new ?? old).at(address) }
    return new
  }
}
