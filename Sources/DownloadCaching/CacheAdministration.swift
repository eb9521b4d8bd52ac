public import DownloadModel
public import SystemPackage

/// `dlm cache …` and `dlm clear-cache`: what can be done with the index, beside downloads and without them. All calls
/// throw `.cache`, with errno or the database's message as the cause.
public struct CacheAdministration: Sendable {
  private let folder: FilePath?
  private let secret: UserSecret
  private let worker = DiskWorker("cache-reader")
  private let now: @Sendable () -> Int64
  private let index: Result<CacheIndex?, DownloadError>

  /// - Parameter folder: where the index is kept; nil for none.
  public init(_ folder: FilePath?, now: @escaping @Sendable () -> Int64 = WallClock.seconds) {
    self.folder = folder
    let secret = UserSecret(in: folder)
    self.secret = secret
    self.now = now
    index = Result { () throws(DownloadError) in
      guard let folder else { return nil }
      do throws(Errno) { return try CacheIndex(at: folder, secret, now: now) } catch {
        throw DownloadError(
          .cache, cause: .detail(CacheWarning.words(error)), path: folder.string, activity: "opening the cache")
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

  /// Everything that is known of an address's files: of every folder, with and without logins.
  /// - Parameter address: without credentials (`Address.key`).
  public func details(of address: String) async throws(DownloadError) -> [CacheDetail] {
    try await opened().rows(of: address).map { CacheDetail($0, at: now()) }
  }

  /// Forgets files that are gone or touched.
  /// - Parameter limit: seconds since 1970; what was last used before is forgotten too. Nil for no limit.
  public func prune(usedBefore limit: Int64? = nil) async throws(DownloadError) -> Freed {
    try await opened().prune(usedBefore: limit)
  }

  /// Removes files of the cache's own store, those first that were used least recently, until they take no more than so
  /// many bytes.
  public func prune(storeTo bytes: Int64) async throws(DownloadError) -> Freed {
    try await opened().prune(storeTo: bytes)
  }

  /// Forgets every file; removes no downloaded file. A `get` that runs at the same time goes on, and the index knows
  /// its files again when it writes its next batch.
  public func clear() async throws(DownloadError) -> Freed { try await opened().clear() }

  /// The same for some addresses only.
  /// - Parameter addresses: without credentials (`Address.key`).
  public func clear(_ addresses: [String]) async throws(DownloadError) -> Freed {
    try await opened().clear(addresses)
  }

  // MARK: Files in the user's folders

  /// The folders that the index knows and those given, canonical, each once, as far as they are there.
  private func folders(and more: [FilePath]) async throws(DownloadError) -> [FilePath] {
    var known: Set<String> = []
    for path in more {
      if let folder = try? Folder(standing: path), let path = try? folder.canonicalPath() {
        known.insert(path)
      }
    }
    for path in try await opened().directories() { known.insert(path) }
    return known.sorted().map { FilePath($0) }
  }

  /// The unfinished files in the folders that the index knows, and in others. Folders that cannot be read are left out.
  /// - Parameter addresses: only these (`Address.key`); nil for all.
  public func unfinished(
    in more: [FilePath], of addresses: [String]? = nil
  ) async throws(DownloadError) -> [UnfinishedFile] {
    let meant = addresses.map { Set($0) }
    var found: [UnfinishedFile] = []
    for path in try await folders(and: more) {
      let files = (try? UnfinishedFiles(in: path, secret).found()) ?? []
      found += files.filter { meant?.contains($0.address) ?? true }
        .sorted { $0.path.string < $1.path.string }
    }
    return found
  }

  /// Removes unfinished files that are dlm's own and that no living process has in use.
  /// - Parameters:
  ///   - more: folders beside those that the index knows.
  ///   - addresses: only these (`Address.key`); nil for all.
  public func removeUnfinished(
    in more: [FilePath], of addresses: [String]? = nil
  ) async throws(DownloadError) -> Freed {
    let meant = addresses.map { Set($0) }
    var freed = Freed()
    for path in try await folders(and: more) {
      do throws(Errno) {
        freed.add(try UnfinishedFiles(in: path, secret).remove { meant?.contains($0) ?? true })
      } catch {
        if error != .noSuchFileOrDirectory, error != .notDirectory {
          freed.failures.append(Self.failure(error, "removing unfinished files", path.string))
        }
      }
    }
    return freed
  }

  private static func failure(_ error: Errno, _ activity: String, _ path: String) -> DownloadError {
    DownloadError(.disk, cause: .errno(error.rawValue), path: path, activity: activity)
  }

  /// How many finished files stand untouched as dlm wrote them, and what they take on the disk.
  public func written(of addresses: [String]? = nil) async throws(DownloadError) -> Freed {
    var written = Freed()
    try await forEachPage(of: addresses) { (rows) throws(DownloadError) in
      for row in rows where !row.key.isStored && row.isIntact {
        written.files += 1
        written.fileBytes += FileIdentity.allocatedBytes(path: row.path)
      }
    }
    return written
  }

  /// Removes finished files that stand untouched as dlm wrote them, and forgets them and those that are gone or
  /// touched.
  /// - Parameter addresses: only these (`Address.key`); nil for all.
  public func removeWritten(of addresses: [String]? = nil) async throws(DownloadError) -> Freed {
    var freed = Freed()
    let index = try opened()
    try await forEachPage(of: addresses) { (rows) throws(DownloadError) in
      var gone: [RowKey] = []
      for row in rows {
        if row.key.isStored {
          gone.append(row.key)
          continue
        }
        do throws(Errno) {
          let isThere = FileIdentity.of(path: row.path) != nil
          switch try WrittenFile(row: row, secret: secret).remove() {
          case .removed(let bytes):
            freed.files += 1
            freed.fileBytes += bytes
          case .notOurs: if isThere { freed.filesKept += 1 }
          }
          gone.append(row.key)
        } catch {
          freed.failures.append(Self.failure(error, "removing the file", row.path))
        }
      }
      freed.entries += try await index.forget(gone)
    }
    return freed
  }

  private func forEachPage(
    of addresses: [String]?, _ body: ([CacheRow]) async throws(DownloadError) -> Void
  ) async throws(DownloadError) {
    let index = try opened()
    if let addresses {
      for address in addresses { try await body(try await index.rows(of: address)) }
      return
    }
    var last: RowKey?
    while true {
      let rows = try await index.rows(after: last, limit: 1000)
      guard let end = rows.last else { return }
      last = end.key
      try await body(rows)
    }
  }

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
    /// Another size, time, inode or owner: changed, renamed, replaced, or copied back from a backup.
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
  /// As of the moment of listing. The last three cases occur only where the file was read (`dlm cache verify`).
  public var condition: Condition
  /// Why it is unreadable.
  public var failure: DownloadError?
  let key: RowKey
}

extension CacheEntry {
  init(_ row: CacheRow) {
    let there = StandingFile.of(path: row.path)
    self.init(
      address: row.key.address, path: FilePath(row.path), size: row.identity.size,
      validator: row.validator, fetchedAt: row.fetchedAt,
      condition: row.isIntact(there) ? .intact : there == nil ? .missing : .touched, key: row.key)
  }
}

/// How the cache stands (`dlm cache status`).
public struct CacheStatus: Sendable, Equatable {
  /// Files that the index knows.
  public var entries: Int
  /// What index, its log and journals take on the disk, as du(1) counts.
  public var indexBytes: Int64
  /// The same for the bodies that the cache owns itself.
  public var storeBytes: Int64
  /// Bytes of the files that the index knows, wherever they stand; touched or missing ones included.
  public var fileBytes: Int64
  public var folder: FilePath
}

/// Something about the cache that the user should know, although every download went on without it. The front door
/// words the message.
public struct CacheWarning: Sendable, Equatable {
  public enum Kind: String, Sendable, Equatable {
    /// The index was damaged; it was renamed to `path`, and a new one begins empty.
    case damagedIndexSetAside = "damaged-index-set-aside"
    /// The same of an index that another version of dlm made.
    case otherVersion = "other-version"
    /// The cache cannot be read or written; files are fetched without it.
    case unusable
    /// The cache cannot keep bytes of its own; the index works.
    case storeUnusable = "store-unusable"
    /// A server failed, and the older file at `path` that might have been used instead could not be copied.
    case noStandIn = "no-stand-in"
    /// The part of an unfinished file could not be kept; a later run starts that file over.
    case partialNotKept = "partial-not-kept"
  }

  public var kind: Kind
  public var path: FilePath
  /// What the system or the database said; empty if it said nothing.
  public var detail: String

  /// What an error says, in words for the user.
  static func words(_ error: any Error) -> String {
    (error as? Errno) == .distrusted
      ? "it belongs to another user, or others can write it, so it is not believed" : "\(error)"
  }

  init(_ kind: Kind, path: FilePath, detail: String = "") {
    self.kind = kind
    self.path = path
    self.detail = detail
  }
}
