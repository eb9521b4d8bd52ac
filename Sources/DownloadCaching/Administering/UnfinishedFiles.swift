import FileReceiving
import Glibc
import SystemPackage

/// The unfinished files in one folder that belong to this user's dlm, by owner, permissions and the seal of their
/// metadata (`ResumeMetadata`).
struct UnfinishedFiles {
  private let folder: Folder
  private let path: String
  private let secret: UserSecret

  /// - Throws: Errno; `.noSuchFileOrDirectory` if the folder is missing.
  init(in path: FilePath, _ secret: UserSecret) throws(Errno) {
    folder = try Folder(standing: path)
    self.path = try folder.canonicalPath()
    self.secret = secret
  }

  /// Takes no locks: a process that is about to use a file must not find it locked.
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

  /// Removes unfinished files and their metadata, except those that a living process uses.
  func remove(_ isMeant: (String) -> Bool) throws(Errno) -> Freed {
    var removed = Freed()
    try forEachMetadata { name, file, metadata throws(Errno) in
      if isMeant(metadata.address) { try remove(name, file, isMeant, &removed) }
    }
    return removed
  }

  /// Calls `body` with each metadata file of this user's dlm.
  private func forEachMetadata(
    _ body: (PartialName, borrowing Descriptor, ResumeMetadata) throws(Errno) -> Void
  ) throws(Errno) {
    for name in try folder.names().compactMap({ PartialName(ofMetadata: $0) }) {
      guard let file = try folder.openOwn(name.metadata), let metadata = try ResumeMetadata.read(file, secret)
      else { continue }
      try body(name, file, metadata)
    }
  }

  /// The part's lock keeps a download from continuing it, and the metadata's lock keeps one from taking the name
  /// meanwhile. The part goes first: the next run removes metadata alone, but no run removes a part alone.
  private func remove(
    _ name: PartialName, _ metadata: borrowing Descriptor, _ isMeant: (String) -> Bool, _ removed: inout Freed
  ) throws(Errno) {
    let part = try folder.openOwn(name.part, O_RDWR, names: 2) ?? .closed
    if part.isOpen, !part.lock() { return removed.partsInUse += 1 }
    defer { if part.isOpen { part.unlock() } }
    guard metadata.lock() else { return removed.partsInUse += 1 }
    defer { metadata.unlock() }
    // Between opening and locking, either may have been replaced, or may have become a finished file.
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
