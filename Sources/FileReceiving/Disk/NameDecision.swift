package import DownloadModel
import Glibc
import Synchronization

/// What becomes of a finished file, which stands under a numbered name, after the user was asked about it.
package enum NameDecision: Sendable, Equatable {
  /// It stays where it is.
  case keep
  /// It takes the name that it should have had; what stands there is lost.
  case replace
  /// It is removed; what stands under the name it was to have stays.
  case discard
  /// It takes another name, if that is free.
  case rename(to: String)

  /// - Returns: the name that the file has then; nil if it was removed.
  /// - Throws: `.conflict` when the new name is taken; `.disk`, `.folder`.
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
