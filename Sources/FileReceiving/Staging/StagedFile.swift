import DownloadModel
import Glibc
import SystemPackage

/// The file in the output folder that receives a download's bytes, and its steps to the final name.
///
/// **Life of a file on disk.** A file starts without a name (O_TMPFILE). It gets the name `NAME.part` only together
/// with metadata: when it is long enough, when it has taken two seconds, or when its transfer ends early. So a `.part`
/// without metadata is never dlm's, and is never touched. Both are private to the user (0600) until the file is
/// finished.
///
/// | step | killed after it, there is | and the next run |
/// |---|---|---|
/// | 1 unnamed file opened, written | nothing | starts over; less than 1 MiB of 2 s is lost |
/// | 2 `NAME.part.json` linked, under lock | metadata alone | finds no lock and no part: removes it |
/// | 3 `NAME.part` linked, under lock | part and metadata | resumes, or starts over in place |
/// | 4 draft of other metadata written | empty part; old metadata, a draft | removes the draft, starts over |
/// | 4 draft renamed to the metadata | empty part, new metadata | starts over in place |
/// | 5 final name linked to the part | the file under both names, metadata | removes part's name, metadata |
/// | 6 part's name gone, or unnamed file linked | the file (part: 0600), metadata | as 7; removes metadata |
/// | 7 metadata removed | the finished file | downloads it once more and recognises its bytes |
/// | 8 row in the index, up to 250 ms later | the finished file | knows it |
///
/// If files need a name from the start (`OutputDirectory.route` is `nil`), step 1 creates `NAME.part` and locks it. The
/// metadata follows before the first byte of the body, so only an empty `.part` can lack it.
///
/// **Ownership.** A part is dlm's only if it and its metadata are regular files of this user that no other user can
/// write, and the metadata has the user's seal (`UserSecret`). Any other file is left alone, and its names are avoided
/// (HTTP rule 44).
struct StagedFile: ~Copyable {
  private let plan: DownloadPlan
  private var directory: OutputDirectory { plan.directory }
  private var folder: Folder { directory.folder }
  /// The metadata that an earlier run left; `nil` for a new file.
  private(set) var found: ResumeMetadata?
  private(set) var foundLength: Int64 = 0
  /// The finished file whose part's name was removed (step 5).
  private(set) var finished: FileIdentity?
  private(set) var descriptor = Descriptor.closed
  /// Whether `names.part` is this file.
  private(set) var isNamed = false
  private(set) var names: PartialName
  private var hasMetadata = false
  private var number: Int
  private var claim: OutputDirectory.NameReservation?

  /// Takes the part that an earlier run left for this URL under any of `x`, `x.1`, `x.2` …, otherwise the first free
  /// name of these.
  /// - Parameter resumes: false to read no metadata. An existing file then matters only when this file gets a name.
  /// - Throws: `.disk`, `.folder`; `.conflict` after a thousand taken names.
  init(_ plan: DownloadPlan, resumes: Bool) throws(DownloadError) {
    self.plan = plan
    number = plan.request.nameNumber
    names = PartialName(plan.nameByAddress)
    let first = number
    // The URL's own part takes precedence over a free name: otherwise a list in another order would never find it
    // again.
    for left in resumes ? directory.numbersOfMetadata(beside: plan.nameByAddress) : [] where left != first {
      number = left
      if try claimCandidate(), try inspect(), found != nil { return }
    }
    number = first
    while true {
      if try claimCandidate(), resumes ? try inspect() : true { return }
      try advance()
    }
  }

  /// Reserves the candidate; false if another download of this process uses it.
  private mutating func claimCandidate() throws(DownloadError) -> Bool {
    let name = FileNaming.alternative(plan.nameByAddress, number)
    names = PartialName(name)
    claim = directory.reserve(name)
    return claim != nil
  }

  private mutating func advance() throws(DownloadError) {
    number += 1
    guard number < plan.request.nameNumber + 1000 else {
      throw DownloadError(.conflict, cause: .errno(EEXIST), path: directory.path(of: names.part), activity: "naming")
    }
  }

  // MARK: Parts of an earlier run

  /// - Returns: false if the candidate is foreign, or if another process uses it.
  private mutating func inspect() throws(DownloadError) -> Bool {
    guard directory.mayHoldMetadata(names) else { return true }
    do {
      switch try folder.own(names.metadata, O_RDONLY) {
      case .nothing: return true
      case .foreign: return false
      case .own(let metadata):
        // Two names, if dlm was killed after step 5.
        switch try folder.own(names.part, O_RDWR, names: 2) {
        case .nothing: return try removeOrphan(metadata)
        case .foreign: return false
        case .own(let part): return try take(part)
        }
      }
    } catch { throw directory.failure(error, "opening", names.part) }
  }

  /// Takes over a part if its metadata is for this URL.
  private mutating func take(_ part: consuming Descriptor) throws(Errno) -> Bool {
    // The name may be gone between open and lock: another process has then just finished the file.
    guard part.lock(), try folder.has(part, as: names.part) else { return false }
    // Read under the part's lock, because the process that holds the lock may replace the metadata.
    guard let current = try readMetadata() else { return false }
    _ = try folder.removeOwn(names.draft(directory.secret, 0))
    hasMetadata = true
    // Step 5: the file is finished and also has its final name, so it must not be emptied.
    if try part.linkCount() > 1 {
      finished = try part.identity()
      try folder.remove(names.part)
      try removeMetadata()
      return true
    }
    foundLength = try part.identity().size
    found = current
    isNamed = true
    descriptor = part
    return true
  }

  /// Metadata without a part: a process was killed between steps 2 and 3 or 6 and 7, or still holds the lock.
  private mutating func removeOrphan(_ metadata: borrowing Descriptor) throws(Errno) -> Bool {
    guard metadata.lock() else { return false }
    defer { metadata.unlock() }
    guard try readMetadata() != nil, try folder.standing(names.part) == nil else { return false }
    hasMetadata = true
    try removeMetadata()
    return true
  }

  /// - Returns: `nil` if it is not for this URL.
  private func readMetadata() throws(Errno) -> ResumeMetadata? {
    guard let file = try folder.openOwn(names.metadata),
      let metadata = try ResumeMetadata.read(file, directory.secret), metadata.address == plan.rowKey.address
    else { return nil }
    return metadata
  }

  // MARK: Opening and showing

  /// Opens a new file for writing. If the file has a name from the start (`isNamed`), `show` must be called next.
  mutating func open() throws(DownloadError) {
    while try !openCandidate() { try nextCandidate() }
    isNamed = directory.route == nil
  }

  private mutating func nextCandidate() throws(DownloadError) {
    repeat { try advance() } while try !claimCandidate()
  }

  /// - Returns: for a file with a name, false unless that is free, or belongs to an empty file of this user that is not
  ///   in use.
  private mutating func openCandidate() throws(DownloadError) -> Bool {
    do {
      if directory.route != nil {
        descriptor = try folder.openUnnamed()
        return true
      }
      if try folder.standing(names.metadata) != nil { return false }
      do {
        descriptor = try folder.open(names.part, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
      } catch .fileExists {
        // dlm leaves an empty file if it is killed between creating the part and its metadata. A recent one may belong
        // to another machine, whose lock is not visible in every file system.
        guard let left = try folder.standing(names.part)?.identity, left.size == 0,
          left.modified < WallClock.stamp() - 60_000_000_000,
          let file = try folder.openOwn(names.part, O_RDWR)
        else { return false }
        descriptor = file
      }
      guard try descriptor.isOwn(), descriptor.lock(), try folder.has(descriptor, as: names.part) else {
        return false
      }
      return try descriptor.identity().size == 0
    } catch { throw directory.failure(error, "creating", names.part) }
  }

  /// Gives the file its visible name with metadata beside it, so that it survives the process.
  mutating func show(_ metadata: ResumeMetadata) throws(DownloadError) {
    if isNamed { return try replaceMetadata(metadata) }
    guard let route = directory.route else { return }
    while try !link(metadata, route) { try nextCandidate() }
    directory.noteMetadata(names.metadata)
    isNamed = true
    hasMetadata = true
  }

  private func link(_ metadata: ResumeMetadata, _ route: Folder.NamingRoute) throws(DownloadError) -> Bool {
    do throws(Errno) {
      // A foreign part must never be beside dlm's metadata, not even for an instant.
      guard try folder.standing(names.part) == nil else { return false }
      let file = try folder.openUnnamed(mode: 0o600)
      try file.write(metadata.json(directory.secret))
      // Before the file is visible: other users must not read or write it until it is finished.
      try descriptor.setMode(0o600)
      // Held until the part exists too. Another process that finds only the metadata must not remove it.
      guard file.lock(), descriptor.lock() else { return false }
      defer { file.unlock() }
      do { try folder.link(file, as: names.metadata, route) } catch .fileExists {
        return false
      }
      do { try folder.link(descriptor, as: names.part, route) } catch {
        try folder.remove(names.metadata)
        guard error == .fileExists else { throw error }
        return false
      }
      return true
    } catch { throw directory.failure(error, "creating", names.part) }
  }

  private mutating func replaceMetadata(_ metadata: ResumeMetadata) throws(DownloadError) {
    do {
      try folder.rename(draft(of: metadata.json(directory.secret)), replacing: names.metadata)
      directory.noteMetadata(names.metadata)
      hasMetadata = true
    } catch { throw directory.failure(error, "writing", names.metadata) }
  }

  /// Writes a draft of new metadata, and returns its name. Removes a draft that a killed process left. If another user
  /// has put a file there, tries the next name.
  private func draft(of json: [UInt8]) throws(Errno) -> String {
    var number = 0
    while true {
      let name = names.draft(directory.secret, number)
      do {
        let file = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        try file.write(json)
        return name
      } catch .fileExists where number < 8 {
        if try !folder.removeOwn(name) { number += 1 }
      }
    }
  }

  // MARK: Naming and removing

  /// - Parameter replacing: only for a file with a visible name, because only a rename replaces.
  /// - Returns: the file's change time after the naming; `nil` if the name exists.
  mutating func commit(as name: String, replacing: Bool) throws(DownloadError) -> ChangeTime? {
    do throws(Errno) {
      if isNamed { try descriptor.flushAndReport() }
      do {
        if replacing {
          try folder.rename(names.part, replacing: name)
        } else if isNamed {
          try folder.rename(names.part, toFree: name)
        } else if let route = directory.route {
          try folder.link(descriptor, as: name, route)
        }
      } catch .fileExists where !replacing {
        return nil
      } catch .noSuchFileOrDirectory where !replacing {
        // Without shared locks, another machine may have had the part too, and may have renamed it.
        guard try folder.standing(name) != nil else { throw Errno.noSuchFileOrDirectory }
        return nil
      }
      // After the naming: if killed in between, dlm leaves a complete private file. In the other order, it would leave
      // a part that others may write, which the next run would not accept.
      if isNamed { try descriptor.setMode(folder.modeOfNewFiles()) }
      isNamed = false
      let named = ChangeTime(of: try descriptor.standing())
      try removeMetadata()
      release()
      return named
    } catch { throw directory.failure(error, "naming", name) }
  }

  mutating func empty() throws(DownloadError) {
    do {
      try descriptor.truncate(to: 0)
      foundLength = 0
    } catch { throw directory.failure(error, "emptying", names.part) }
  }

  mutating func discard() throws(DownloadError) {
    do {
      if isNamed { try folder.remove(names.part) }
      isNamed = false
      try removeMetadata()
      release()
    } catch { throw directory.failure(error, "removing", names.part) }
  }

  /// Closes the file and frees its name. Unlocks first, because a child process that is being started may share the
  /// lock.
  mutating func release() {
    if isNamed, descriptor.isOpen { descriptor.unlock() }
    descriptor = .closed
    claim = nil
  }

  private mutating func removeMetadata() throws(Errno) {
    guard hasMetadata else { return }
    try folder.remove(names.metadata)
    directory.forgetMetadata(names.metadata)
    hasMetadata = false
  }
}
