package import DownloadModel
package import FileReceiving
import Glibc
package import SystemPackage

/// One file that the index knows (`dlm cache list`, `dlm cache show`, `dlm cache verify`), with the fields of its row.
@dynamicMemberLookup
package struct CacheEntry: Equatable {
  /// How the file compares with what was written.
  package enum Condition: String, Equatable {
    case intact
    /// Another size, time, inode or owner.
    case touched
    case missing
    /// Its bytes, read again, have the checksum that was proved when it was fetched.
    case proven
    /// It looks untouched, but its bytes differ: a faulty disk, or a change whose time was set back.
    case corrupt
    /// Reading its bytes failed.
    case unreadable

    package var isGood: Bool { self == .intact || self == .proven }
  }

  private let row: CacheRow
  /// When listed. The last three cases occur only where the file was read (`dlm cache verify`).
  package internal(set) var condition: Condition
  package internal(set) var failure: DownloadError?

  init(_ row: CacheRow) {
    self.row = row
    let there = StandingFile.of(path: row.path)
    condition = row.isIntact(there) ? .intact : there == nil ? .missing : .touched
  }

  package subscript<Value>(dynamicMember field: KeyPath<CacheRow.Fields, Value>) -> Value { row.fields[keyPath: field] }

  package var address: String { row.key.address }
  package var path: FilePath { FilePath(row.path) }
  /// Length in bytes when it was written.
  package var size: Int64 { row.identity.size }
  /// Seconds since 1970 until which it is used unasked, passed or not; nil where the server is always asked.
  package func freshUntil(at now: Int64) -> Int64? { Freshness.end(of: row, at: now) }
  /// Whether it answers only requests with a certain login, header lines, certificate, or unusual checks of the server.
  package var isKeyed: Bool { row.trust != .usual }
  package var isStored: Bool { row.key.isStored }
  /// The name that the user chose (`--output`); nil if the server or the address gave it.
  package var chosenName: String? { row.key.requested.isEmpty || !row.key.isUsers ? nil : row.key.requested }
  package var digest: String? { row.checksum }
}

package struct CacheStatus: Sendable, Equatable {
  /// Files that the index knows.
  package var entries: Int
  /// What index, its log and journals take on the disk, as du(1) counts.
  package var indexBytes: Int64
  /// The same for the bodies that the cache owns itself.
  package var storeBytes: Int64
  /// Bytes of the files that the index knows, wherever they stand; touched or missing ones included.
  package var fileBytes: Int64
  package var folder: FilePath
}

/// What clearing or pruning the cache has freed, and what it had to leave.
package struct Freed: Sendable, Equatable {
  /// Files that the index no longer knows.
  package var entries = 0
  /// By how many bytes the cache folder has shrunk, as du(1) counts.
  package var bytes: Int64 = 0
  /// Journals of ended processes that were removed.
  package var journals = 0
  /// Finished files that were removed, and what they took on the disk.
  package var files = 0
  package var fileBytes: Int64 = 0
  /// Where files that could be removed stand.
  package var folders: Set<String> = []
  /// Finished files that stay, because they are no longer as dlm wrote them.
  package var filesKept = 0
  /// Unfinished files that were removed, and what they took on the disk.
  package var parts = 0
  package var partBytes: Int64 = 0
  /// Unfinished files that stay, because a running dlm has them in use.
  package var partsInUse = 0
  /// What could not be removed, or not be looked at.
  package var failures: [DownloadError] = []

  package mutating func add(_ more: Freed) {
    for count in [\Freed.entries, \.journals, \.files, \.filesKept, \.parts, \.partsInUse] {
      self[keyPath: count] += more[keyPath: count]
    }
    for bytes in [\Freed.bytes, \.fileBytes, \.partBytes] { self[keyPath: bytes] += more[keyPath: bytes] }
    failures += more.failures
  }
}

/// A file that is not whole yet, as it waits in its folder for the next run (`StagedFile`).
package struct UnfinishedFile: Sendable, Equatable {
  package var address: String
  /// Whether it was asked for with a login or with header lines of its own.
  package var isKeyed: Bool
  package var path: FilePath
  /// Bytes of the body that are there.
  package var bytes: Int64
  /// Length of the whole file in bytes; nil if the server did not say.
  package var total: Int64?
  package var validator: Validator
}

/// The unfinished files in one folder that are this user's dlm's own, by the seal of their metadata (`ResumeMetadata`),
/// owner and rights.
struct UnfinishedFiles {
  private let folder: Folder
  private let path: String
  private let secret: UserSecret

  /// - Throws: Errno; `.noSuchFileOrDirectory` where there is no such folder.
  init(in path: FilePath, _ secret: UserSecret) throws(Errno) {
    folder = try Folder(standing: path)
    self.path = try folder.canonicalPath()
    self.secret = secret
  }

  /// Looks at no locks: a process that begins to use a file at this moment must not find it taken.
  func found() throws(Errno) -> [UnfinishedFile] {
    var found: [UnfinishedFile] = []
    try forEachMetadata { name, _, metadata throws(Errno) in
      guard let standing = try folder.standing(name.part)?.identity, standing.isRegularFile else { return }
      found.append(
        UnfinishedFile(
          address: metadata.address, isKeyed: metadata.held.trust != .usual,
          path: FilePath(path).appending(name.part), bytes: metadata.bytes(length: standing.size),
          total: metadata.held.total, validator: metadata.held.validator))
    }
    return found
  }

  /// Removes unfinished files with what stands beside them; not those that a living process has in use.
  package func remove(_ isMeant: (String) -> Bool) throws(Errno) -> Freed {
    var removed = Freed()
    try forEachMetadata { name, file, metadata throws(Errno) in
      if isMeant(metadata.address) { try remove(name, file, isMeant, &removed) }
    }
    return removed
  }

  /// Calls `body` with the metadata of this user's dlm.
  private func forEachMetadata(
    _ body: (PartialName, borrowing Descriptor, ResumeMetadata) throws(Errno) -> Void
  ) throws(Errno) {
    for name in try folder.names().compactMap({ PartialName(ofMetadata: $0) }) {
      guard let file = try folder.openOwn(name.metadata), let metadata = try ResumeMetadata.read(file, secret)
      else { continue }
      try body(name, file, metadata)
    }
  }

  /// The lock of the part keeps a download from going on with it, and that of the metadata from taking the name
  /// meanwhile. The part goes first: metadata alone is removed by the next run, and a part alone by nobody.
  private func remove(
    _ name: PartialName, _ metadata: borrowing Descriptor, _ isMeant: (String) -> Bool, _ removed: inout Freed
  ) throws(Errno) {
    let part = try folder.openOwn(name.part, O_RDWR, names: 2) ?? .closed
    if part.isOpen, !part.lock() { return removed.partsInUse += 1 }
    defer { if part.isOpen { part.unlock() } }
    guard metadata.lock() else { return removed.partsInUse += 1 }
    defer { metadata.unlock() }
    // Between opening and locking, either may have been replaced, or have become a finished file.
    guard try folder.has(metadata, as: name.metadata),
      part.isOpen ? try folder.has(part, as: name.part) : try folder.standing(name.part) == nil,
      let current = try ResumeMetadata.read(metadata, secret), isMeant(current.address)
    else { return }
    // A part with a second name is a finished file that still has its part's name.
    let bytes = try folder.allocatedBytes(of: name.part, ifRemoved: true) + folder.allocatedBytes(of: name.metadata)
    if part.isOpen {
      try folder.remove(name.part)
      removed.parts += 1
    }
    for number in 0...8 { _ = try folder.removeOwn(name.draft(secret, number)) }
    try folder.remove(name.metadata)
    removed.partBytes += bytes
  }
}
