import DownloadModel
import FileReceiving
import Glibc
import SystemPackage
import Synchronization

/// The cache's own files: `<cache folder>/store/`.
///
/// An entry has a row in the index, with this folder as its directory. It is found, checked and copied like a file in
/// any other folder. A URL has one entry, under a name that only this user's dlm can compute.
///
/// **Life of an entry.** It gets its name only when it is complete.
///
/// | step | killed after it, there is | and the next run |
/// |---|---|---|
/// | 1 draft opened and locked, cloned or copied | a draft | removes it, and repeats it when the file is downloaded |
/// | 2 draft renamed | the entry, perhaps the row of an earlier one | replaces it when the file is downloaded |
/// | 3 rows written | the entry | knows it by the index |
///
/// Drafts are in `store/new/`; a living process holds the lock of a draft that it fills.
///
/// **Other processes.** Only drafts are locked. An entry that is replaced or evicted while another process copies it
/// stays readable to that process. If an entry disappears between lookup and copy, the file is downloaded. If an
/// eviction removes an entry that another process has just replaced, the row has no file, and is not used.
final class FileStore: Sendable {
  static let folderName = "store"
  private let parent: Folder
  private let secret: UserSecret
  private let opened = Lock<Opened?>(nil)

  private struct Opened {
    let folder, drafts: Folder
    let path: String
  }

  /// Does not touch the disk yet.
  init(in parent: Folder, _ secret: UserSecret) {
    self.parent = parent
    self.secret = secret
  }

  var path: FilePath { FilePath(parent.path).appending(Self.folderName) }

  private func open() throws(Errno) -> Opened {
    try opened.withLock { opened throws(Errno) in
      if let opened { return opened }
      let folder = try Folder(own: path)
      let made = Opened(
        folder: folder, drafts: try Folder(own: path.appending("new")), path: try folder.canonicalPath())
      opened = made
      try removeAbandoned(made.drafts)
      return made
    }
  }

  /// `nil` if no file was ever put in.
  private func openIfThere() throws(Errno) -> Opened? {
    if let opened = opened.withLock({ $0 }) { return opened }
    return try parent.standing(Self.folderName) == nil ? nil : try open()
  }

  // MARK: Names

  /// Its first half identifies the URL's entry without disclosing the URL.
  private func name(_ key: RowKey) -> String { secret.name("store", secret.tag("store entry", key.address)) }
  private func isName(_ name: String) -> Bool { secret.isName("store", name) }

  private func removeAbandoned(_ drafts: Folder) throws(Errno) {
    for name in try drafts.names() where secret.isName("store draft", name) {
      // A draft may be a hard link to the user's file: only the name is removed.
      guard let file = try? drafts.open(name, O_RDONLY | O_NONBLOCK), file.lock() else { continue }
      try drafts.remove(name)
    }
  }

  // MARK: Putting in

  /// Whether a file can be cloned into the cache folder; `nil` if it is no longer the file of the row.
  func canClone(_ source: CacheRow) -> Bool? {
    guard let file = try? Descriptor.openIntact(source) else { return nil }
    guard let trial = try? parent.openUnnamed(mode: 0o600) else { return false }
    return trial.clone(file)
  }

  /// Puts a finished file in, and returns the entry's row; `nil` if the file is no longer that of its row.
  /// - Throws: errno; EOPNOTSUPP if the file system does not support this kind; ECANCELED.
  func put(_ source: CacheRow, by kind: StoreKind) throws(Errno) -> CacheRow? {
    let store = try open()
    var entry = source
    entry.fields.key = RowKey(address: source.key.address, directory: store.path, requested: RowKey.stored)
    entry.fields.name = name(source.key)
    guard let file = try Descriptor.openIntact(source) else { return nil }
    if kind == .link {
      entry.fields.sum = try file.digest(.sha256)?.hex
      guard try source.isIntact(file.standing()) else { return nil }
    }
    let draft = secret.freshName("store draft")
    do {
      if kind == .link {
        try store.drafts.link(path: source.path, as: draft)
        if try store.drafts.standing(draft)?.identity == source.identity {
          return try name(file, draft, as: entry, in: store)
        }
      } else {
        let copy = try store.drafts.open(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        if copy.lock(), try Self.fill(copy, with: file, source, by: kind) {
          return try name(copy, draft, as: entry, in: store)
        }
      }
    } catch {
      try store.drafts.remove(draft)
      if kind == .link, error == .noSuchFileOrDirectory { return nil }
      throw error
    }
    try store.drafts.remove(draft)
    return nil
  }

  private func name(
    _ file: borrowing Descriptor, _ draft: String, as entry: CacheRow, in store: Opened
  ) throws(Errno) -> CacheRow {
    var entry = entry
    let standing = try file.standing()
    entry.fields.identity = standing.identity
    try store.drafts.move(draft, to: store.folder, replacing: entry.name)
    // rename(2) does nothing if both names belong to one file: a link that is put in again.
    if entry.sum != nil { try store.drafts.remove(draft) }
    entry.changed = ChangeTime(of: try file.standing())
    return entry
  }

  /// - Returns: false if the file is no longer that of the row.
  private static func fill(
    _ copy: borrowing Descriptor, with file: borrowing Descriptor, _ source: CacheRow, by kind: StoreKind
  ) throws(Errno) -> Bool {
    let length = source.identity.size
    if !copy.clone(file) {
      guard kind == .copy else { throw Errno(rawValue: errno) }
      guard try copy.copyBytes(of: file, length) == length else { return false }
    }
    return try source.isIntact(file.standing())
  }

  // MARK: Removing

  /// Removes an entry, unless its name belongs to another entry by now. Calls `changing` if that changed the user's own
  /// file (`link`).
  /// - Returns: the bytes of the entry, as `du` counts them.
  func remove(_ entry: CacheRow, changing: (ChangeTime) -> Void) throws(Errno) -> Int64 {
    guard isName(entry.name), let store = try openIfThere(), store.path == entry.key.directory,
      let standing = try store.folder.standing(entry.name), standing.identity.isSameFile(as: entry.identity)
    else { return 0 }
    let bytes = try store.folder.allocatedBytes(of: entry.name)
    let file = entry.changed.isThat(of: standing) ? try? store.folder.open(entry.name, O_RDONLY | O_NONBLOCK) : nil
    try store.folder.remove(entry.name)
    if let file, try file.linkCount() > 0 { changing(ChangeTime(of: try file.standing())) }
    return bytes
  }

  func names() throws(Errno) -> [String] {
    guard let store = try openIfThere() else { return [] }
    return try store.folder.names().filter { isName($0) }
  }

  func clear(_ names: [String]) throws(Errno) {
    guard let store = try openIfThere() else { return }
    try removeAbandoned(store.drafts)
    for name in names where isName(name) { try store.folder.remove(name) }
  }
}
