import DownloadModel
import Synchronization
import SystemPackage

/// What the cache actors of one run have in common. Each network loop has an actor of its own, so that no file
/// changes threads on its way; this makes them one cache.
///
/// Locks and not an actor: a file looks in twice, and a hop to another thread would cost it more than its own work.
/// Each lock is held for a look into a table, but for the opening of folder and index, once a run.
final class CacheCommons: Sendable {
  let copier = FileCopier()
  private let downloads = Mutex(Downloads())
  private let places = Mutex(Places())

  private struct Downloads {
    /// Work under way, by what was asked for.
    var works: [DownloadKey: SharedDownload] = [:]
    var recent = RecentFiles()
  }

  private struct Places {
    var directory: OutputDirectory?
    var index: CacheIndex?
    var indexWasOpened = false
    var scopes: CredentialScope?
    var members: [Member] = []
  }

  /// Weak: each of them holds the commons.
  private struct Member {
    weak var cache: DownloadCache?
  }

  // MARK: Equal requests

  /// What there is already for a request.
  enum Standing {
    /// This process finished or proved it a moment ago.
    case recent(RecentFiles.Entry)
    case work(Share)
  }

  /// A place among those who wait for a piece of work.
  enum Share {
    case joined(SharedDownload, SharedDownload.Ticket)
    /// The work is the caller's to begin, once what is leaving has ended.
    case begin(SharedDownload, SharedDownload.Ticket, after: SharedDownload?)
  }

  func look(_ key: DownloadKey) -> Standing {
    downloads.withLock { downloads in
      if let entry = downloads.recent[key] { return .recent(entry) }
      return .work(Self.join(key, &downloads))
    }
  }

  /// What was finished a moment ago no longer stands there.
  func forgetAndJoin(_ key: DownloadKey) -> Share {
    downloads.withLock { downloads in
      downloads.recent.forget(key)
      return Self.join(key, &downloads)
    }
  }

  private static func join(_ key: DownloadKey, _ downloads: inout Downloads) -> Share {
    // Work that everybody left is still putting its partial file in order; the new one goes on from there.
    let leaving = downloads.works[key]
    if let leaving, let ticket = leaving.join() { return .joined(leaving, ticket) }
    let (work, ticket) = SharedDownload.begun()
    downloads.works[key] = work
    return .begin(work, ticket, after: leaving)
  }

  /// - Parameter work: what ended. A later asker may already have put its own in its place, if it was given up.
  func ended(_ key: DownloadKey, _ work: SharedDownload) {
    downloads.withLock { if $0.works[key] === work { $0.works[key] = nil } }
  }

  func remember(_ entry: RecentFiles.Entry, for key: DownloadKey) {
    downloads.withLock { $0.recent.remember(entry, for: key) }
  }

  /// - Parameter files: what is remembered instead.
  func forgetRecent(_ files: RecentFiles = RecentFiles()) { downloads.withLock { $0.recent = files } }

  var anyWork: SharedDownload? { downloads.withLock { $0.works.values.first } }

  func work(for key: DownloadKey) -> SharedDownload? { downloads.withLock { $0.works[key] } }

  // MARK: Opened when first needed

  func directory(_ path: FilePath) throws(DownloadError) -> OutputDirectory {
    try places.withLock { places throws(DownloadError) in
      if let directory = places.directory { return directory }
      let directory = try OutputDirectory(path)
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
      do throws(Errno) { places.index = try CacheIndex(at: folder, now: now) } catch { return (nil, error) }
      return (places.index, nil)
    }
    if let error { warn(error) }
    return index
  }

  func scopes(orElse warn: (Errno) -> Void) -> CredentialScope {
    let (scopes, error) = places.withLock { places -> (CredentialScope, Errno?) in
      if let scopes = places.scopes { return (scopes, nil) }
      var failure: Errno?
      let made: CredentialScope
      do throws(Errno) {
        made =
          try places.index.map { index throws(Errno) in try CredentialScope(in: index.folder) }
          ?? .forThisProcess()
      } catch {
        made = .forThisProcess()
        failure = error
      }
      places.scopes = made
      return (made, failure)
    }
    if let error { warn(error) }
    return scopes
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
