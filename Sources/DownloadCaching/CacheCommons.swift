import DownloadModel
import Synchronization
import SystemPackage

/// What the cache actors of one run have in common. Each network loop has an actor of its own, so that no file
/// changes threads on its way; this makes them one cache.
///
/// Locks and not an actor: a hop to another thread would cost a file more than its own work. Each lock is held for a
/// look into a table, but for the opening of folder and index, once a run.
final class CacheCommons: Sendable {
  let copier = FileCopier()
  let syncer = FileSyncer()
  let downloads = SharedDownloads()
  /// What other processes have under way; nil for a run that others do not meet.
  let claims: ProcessClaims?
  let secret: UserSecret
  /// Tells this run from others.
  let runNumber = UInt64.random(in: .min ... .max)
  private let places = Mutex(Places())

  /// - Parameters:
  ///   - claimsFolder: where other processes say what they have under way; nil for a run that others do not meet.
  ///   - keyFolder: where the user's secret is kept; nil for one of this process.
  init(claimsFolder: FilePath?, keyFolder: FilePath?) {
    claims = claimsFolder.flatMap { ProcessClaims(in: $0) }
    secret = UserSecret(in: keyFolder)
  }

  private struct Places {
    var directory: OutputDirectory?
    var index: CacheIndex?
    var indexWasOpened = false
    var owners: FileOwners?
    var members: [Member] = []
  }

  /// Weak: each of them holds the commons.
  private struct Member {
    weak var cache: DownloadCache?
  }

  // MARK: Opened when first needed

  func directory(_ path: FilePath) throws(DownloadError) -> OutputDirectory {
    try places.withLock { places throws(DownloadError) in
      if let directory = places.directory { return directory }
      let directory = try OutputDirectory(path, secret: secret)
      places.directory = directory
      return directory
    }
  }

  /// - Returns: nil if it cannot be opened. Only the first to ask learns why.
  func index(
    at folder: FilePath, now: @escaping @Sendable () -> Int64, orElse warn: (Errno) -> Void
  ) -> CacheIndex? {
    let (index, error) = places.withLock { places -> (CacheIndex?, Errno?) in
      if places.indexWasOpened { return (places.index, nil) }
      places.indexWasOpened = true
      do throws(Errno) { places.index = try CacheIndex(at: folder, secret, now: now) } catch {
        return (nil, error)
      }
      return (places.index, nil)
    }
    if let error { warn(error) }
    return index
  }

  /// Whose the output folder's files are; nil until somebody asked the index.
  var owners: FileOwners? {
    get { places.withLock { $0.owners } }
    set { places.withLock { $0.owners = newValue } }
  }

  // MARK: The actors

  func enter(_ cache: DownloadCache) { places.withLock { $0.members.append(Member(cache: cache)) } }

  var members: [DownloadCache] { places.withLock { $0.members.compactMap(\.cache) } }

  /// - Returns: whether it was the last.
  func leave(_ cache: DownloadCache) -> Bool {
    places.withLock { places in
      let count = places.members.count
      places.members.removeAll { $0.cache === cache || $0.cache == nil }
      return count > 0 && places.members.isEmpty
    }
  }
}
