public import DownloadModel
import SystemPackage

/// What becomes of a finished file whose name was asked about. Until then it stands, whole, under a name of its own.
public enum NameDecision: Sendable, Equatable {
  /// It stays where it is.
  case keep
  /// It takes the name that it was to have; what stands there is gone.
  case replace
  /// It is removed; what stands under the name it was to have stays.
  case discard
  /// It takes another name, if that is free.
  case rename(to: String)
}

extension DownloadCache {
  /// Carries out what was decided on a file that this run fetched.
  /// - Returns: where it stands now; nil if it was removed.
  /// - Throws: `.conflict` when the new name is taken or none that a file can have; `.disk`, `.folder`.
  public func settle(
    _ request: DownloadRequest, _ outcome: DownloadOutcome, _ decision: NameDecision
  ) async throws(DownloadError) -> String? {
    let directory = try outputDirectory()
    let old = outcome.name
    let new: String
    switch decision {
    case .keep: return outcome.path
    case .discard:
      do throws(Errno) { try directory.folder.remove(old) } catch {
        throw directory.failure(error, "removing", old).at(request.address)
      }
      return nil
    case .replace: new = outcome.wantedName
    case .rename(let name):
      guard FileNaming.isUsable(name) else {
        throw DownloadError(.conflict, cause: .detail("not a file name"), path: name, activity: "naming")
          .at(request.address)
      }
      new = name
    }
    if new.utf8.elementsEqual(old.utf8) { return outcome.path }
    do throws(Errno) {
      if decision == .replace {
        try directory.folder.rename(old, replacing: new)
      } else {
        try directory.folder.rename(old, toFree: new)
      }
    } catch {
      throw directory.failure(error, "naming", new).at(request.address)
    }
    await note(request, directory, from: old, to: new)
    return directory.path(of: new)
  }

  /// The index finds the file by its name: without this, the next run would fetch it again.
  private func note(
    _ request: DownloadRequest, _ directory: OutputDirectory, from old: String, to new: String
  ) async {
    let key = RowKey(
      address: request.address.key, scope: scope(of: request.address), directory: directory.canonicalPath,
      requested: request.outputName ?? "")
    for cache in commons.members where await cache.note(key, from: old, to: new) { return }
    guard var row = await openedIndex?.rows(key).first(where: { $0.key == key }), row.name == old else {
      return
    }
    row.name = new
    batch.add(row)
    if batch.isFull { await flush() }
  }

  /// - Returns: false if the row is not among those on their way to the index.
  private func note(_ key: RowKey, from old: String, to new: String) -> Bool {
    guard var row = batch[key], row.name == old else { return false }
    row.name = new
    batch.add(row)
    return true
  }
}
