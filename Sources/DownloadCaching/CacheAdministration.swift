public import DownloadModel
public import SystemPackage

/// `dlm cache …` and `dlm clear-cache`: what can be done with the index, beside downloads and without them.
/// All calls throw `.cache`, with errno or the database's message as the cause.
public struct CacheAdministration: Sendable {
  private let folder: FilePath?
  private let secret: UserSecret
  private let worker = DiskWorker("cache-reader")
  private let index: Result<CacheIndex?, DownloadError>

  /// - Parameter folder: where the index is kept; nil for none.
  public init(_ folder: FilePath?, now: @escaping @Sendable () -> Int64 = WallClock.seconds) {
    self.folder = folder
    let secret = UserSecret(in: folder)
    self.secret = secret
    index = Result { () throws(DownloadError) in
      guard let folder else { return nil }
      do throws(Errno) { return try CacheIndex(at: folder, secret, now: now) } catch {
        throw DownloadError(
          .cache, cause: .detail("\(error)"), path: folder.string, activity: "opening the cache")
      }
    }
  }

  private func opened() throws(DownloadError) -> CacheIndex {
    guard let index = try index.get() else {
      throw DownloadError(.cache, cause: .detail("no cache folder"), activity: "opening the cache")
    }
    return index
  }

  public func status() async throws(DownloadError) -> CacheStatus { try await opened().status() }

  /// Up to `limit` files, in the order of their addresses.
  /// - Parameter entry: the last one of the page before; nil for the first page.
  public func list(
    after entry: CacheEntry? = nil, limit: Int = 1000
  ) async throws(DownloadError) -> [CacheEntry] {
    try await opened().page(after: entry?.key, limit: limit)
  }

  /// The same, after reading every file whose checksum is known and that looks untouched.
  public func verify(
    after entry: CacheEntry? = nil, limit: Int = 100
  ) async throws(DownloadError) -> [CacheEntry] {
    var entries: [CacheEntry] = []
    for row in try await opened().rows(after: entry?.key, limit: limit) {
      var entry = CacheEntry(row)
      if entry.condition == .intact, let digest = row.digest.flatMap({ ContentDigest($0) }) {
        try await prove(&entry, row, digest)
      }
      entries.append(entry)
    }
    return entries
  }

  private func prove(
    _ entry: inout CacheEntry, _ row: CacheRow, _ digest: ContentDigest
  ) async throws(DownloadError) {
    do throws(DownloadError) {
      if let found = try await worker.digest(of: row, digest.algorithm) {
        entry.condition = found == digest ? .proven : .corrupt
      } else {
        entry = CacheEntry(row)  // touched since its row was read
      }
    } catch {
      if error.code == .cancelled { throw error }
      entry.condition = .unreadable
      entry.failure = error
    }
  }

  /// Forgets files that are gone or touched.
  public func prune() async throws(DownloadError) -> Freed { try await opened().prune() }

  /// Forgets every file; removes no downloaded file. A `get` that runs at the same time goes on, and the
  /// index knows its files again when it writes its next batch.
  public func clear() async throws(DownloadError) -> Freed { try await opened().clear() }

  /// Must be called once, at the end.
  /// - Returns: what went wrong with the cache without failing a call.
  public func close() async -> [CacheWarning] {
    guard case .success(let index?) = index else { return [] }
    await index.close()
    return [secret.takeWarning()].compactMap { $0 } + (await index.takeWarnings())
  }
}

/// One file that the index knows (`dlm cache list`, `dlm cache verify`).
public struct CacheEntry: Sendable, Equatable {
  /// How the file compares with what was written.
  public enum Condition: String, Sendable, Equatable {
    case intact
    /// Another size, time or inode: changed, replaced, or copied back from a backup.
    case touched
    case missing
    /// Read again, its bytes have the checksum that was proved when it was fetched.
    case proven
    /// It looks untouched, but its bytes differ: a faulty disk, or a change whose time was set back.
    case corrupt
    /// Reading its bytes failed.
    case unreadable

    /// Whether the check found nothing wrong with the file.
    public var isGood: Bool { self == .intact || self == .proven }
  }

  /// Its address, without credentials.
  public var address: String
  public var path: FilePath
  /// Length in bytes when it was written.
  public var size: Int64
  public var validator: Validator
  /// Seconds since 1970 at which the server last vouched for it.
  public var fetchedAt: Int64
  /// As of the moment of listing. The last three cases occur only where the file was read (`dlm cache
  /// verify`).
  public var condition: Condition
  /// Why it is unreadable.
  public var failure: DownloadError?
  let key: RowKey
}

extension CacheEntry {
  init(_ row: CacheRow) {
    let there = FileIdentity.of(path: row.path)
    self.init(
      address: row.key.address, path: FilePath(row.path), size: row.identity.size,
      validator: row.validator, fetchedAt: row.fetchedAt,
      condition: there == row.identity ? .intact : there == nil ? .missing : .touched, key: row.key)
  }
}

/// How the cache stands (`dlm cache status`).
public struct CacheStatus: Sendable, Equatable {
  /// Files that the index knows.
  public var entries: Int
  /// Bytes that the cache folder itself takes: index, its log, journals.
  public var indexBytes: Int64
  /// Bytes of the files that the index knows, wherever they stand; touched or missing ones included.
  public var fileBytes: Int64
  public var folder: FilePath

  public init(entries: Int, indexBytes: Int64, fileBytes: Int64, folder: FilePath) {
    self.entries = entries
    self.indexBytes = indexBytes
    self.fileBytes = fileBytes
    self.folder = folder
  }
}

/// Something about the cache that the user should know, although every download went on without it. The front
/// door words the message.
public struct CacheWarning: Sendable, Equatable {
  public enum Kind: String, Sendable, Equatable {
    /// The index was damaged; it was renamed to `path`, and a new one begun.
    case damagedIndexSetAside = "damaged-index-set-aside"
    /// The index was made by a later version of dlm, and is left alone.
    case laterVersion = "later-version"
    /// The cache cannot be read or written; files are fetched without it.
    case unusable
    /// The part of an unfinished file could not be kept; a later run starts that file over.
    case partialNotKept = "partial-not-kept"
  }

  public var kind: Kind
  public var path: FilePath
  /// What the system or the database said; empty if it said nothing.
  public var detail: String

  public init(_ kind: Kind, path: FilePath, detail: String = "") {
    self.kind = kind
    self.path = path
    self.detail = detail
  }
}

/// What clearing or pruning the cache freed. Neither removes a downloaded file.
public struct Freed: Sendable, Equatable {
  /// Files that the index no longer knows.
  public var entries: Int
  /// By how many bytes the cache folder has shrunk.
  public var bytes: Int64
  /// Journals of ended processes that were removed.
  public var journals: Int

  public init(entries: Int, bytes: Int64, journals: Int = 0) {
    self.entries = entries
    self.bytes = bytes
    self.journals = journals
  }
}
