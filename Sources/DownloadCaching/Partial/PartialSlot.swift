import DownloadModel
import Glibc
import SystemPackage

// Long because: its table of kills and the steps that the table lists are one idea, to be read side by side.

/// The place in the output folder where one file's bytes wait, and its steps from nothing to a final name.
///
/// **Life of a file on disk.** A file starts without a name (O_TMPFILE). It gets `NAME.part` only together with
/// a record: when it is long enough to be worth resuming after SIGKILL, or when its transfer ends early. So a
/// `.part` without a record is never dlm's, and is never touched. Both are the user's alone (0600) until the file is
/// finished.
///
/// | step | killed after it, there is | and the next run |
/// |---|---|---|
/// | 1 unnamed file opened, written | nothing | starts over; less than 1 MiB is lost |
/// | 2 `NAME.part.json` linked, under lock | a record alone | finds no lock and no part: removes it |
/// | 3 `NAME.part` linked, under lock | part and record | resumes, or starts over in place |
/// | 4 record's draft written (other version) | part emptied before; old record, a draft | removes the draft, starts over in place |
/// | 4 draft renamed to the record | new record | starts over in place |
/// | 5 line in the journal | as before, and a line | drops the line: its inode is not under its name |
/// | 6 final name linked to the part | the file under both names, and its record | finds two names, removes the part's and the record |
/// | 7 part's name gone, or an unnamed file linked | the finished file (of a part, still 0600), perhaps a record alone | knows it by the journal; removes the record |
/// | 8 record removed | the finished file | knows it by the journal |
///
/// Where files need a name from the start (`OutputDirectory.route` is nil), step 1 makes `NAME.part` and locks
/// it, and the record follows before the first byte of the body: only an empty `.part` can lack one, and only
/// an empty one that is the user's own is taken over without.
///
/// **Whose they are.** A folder may be shared: a part is dlm's only if it and its record are regular files of this user
/// that nobody else can write, and the record bears the user's seal (`UserSecret`). Whatever else stands there is left
/// alone, unread where that can be, and its names are stepped around (http.md 44).
struct PartialSlot: ~Copyable {
  let directory: OutputDirectory
  let owner: PartialOwner
  /// The record that was found, with what it is good for; nil for a fresh slot.
  private(set) var found: PartialRecord?
  private(set) var foundLength: Int64 = 0
  var descriptor = Descriptor.closed
  /// Whether `names.part` is this file.
  var isNamed = false
  private(set) var names: PartialName
  var hasRecord = false
  private let base: String
  private static let longestRecord = 65_536
  private var number: Int
  private let last: Int
  var claim: NameClaim?

  /// Takes what this owner left under any of `x`, `x.1`, `x.2` …, else the first of them that nobody uses.
  /// - Parameter number: the first to try.
  /// - Throws: `.disk`, `.folder`; `.conflict` when a thousand names are taken.
  init(
    in directory: OutputDirectory, for owner: PartialOwner, base: String, number: Int = 0
  ) throws(DownloadError) {
    self.directory = directory
    self.owner = owner
    self.base = base
    self.number = number
    last = number + 1000
    names = PartialName(base)
    // What this owner left goes before a free name: else it would never be found again, by a list in another order.
    for left in directory.numbersOfRecords(beside: base) where left != number {
      self.number = left
      if try claimCandidate(), try inspect(), found != nil { return }
    }
    self.number = number
    while true {
      if try claimCandidate(), try inspect() { return }
      try advance()
    }
  }

  /// Whether the candidate was free among this process's files.
  private mutating func claimCandidate() throws(DownloadError) -> Bool {
    let name = number == 0 ? base : FileNaming.alternative(base, number)
    names = PartialName(name)
    claim = directory.claims.take(name)
    return claim != nil
  }

  private mutating func advance() throws(DownloadError) {
    number += 1
    guard number < last else {
      throw DownloadError(
        .conflict, cause: .errno(EEXIST), path: directory.path(of: names.part), activity: "naming")
    }
  }

  // MARK: What an earlier run left

  /// - Returns: false if the candidate is somebody else's, or in use by another process.
  private mutating func inspect() throws(DownloadError) -> Bool {
    guard directory.mayHoldRecord(names) else { return true }
    do throws(Errno) {
      let record: Descriptor
      do throws(Errno) { record = try directory.folder.open(names.record, O_RDONLY | O_NONBLOCK) } catch {
        if error == .noSuchFileOrDirectory { return true }
        return try Self.isForeign(error)
      }
      guard try record.isOwn() else { return false }
      let part: Descriptor
      do throws(Errno) { part = try directory.folder.open(names.part, O_RDWR | O_NONBLOCK) } catch {
        if error == .noSuchFileOrDirectory { return try removeOrphan(record) }
        return try Self.isForeign(error)
      }
      // Two names: step 6. The name may have been renamed away between open and lock: then another process has just
      // finished.
      guard try part.isOwn(names: 2), part.lock(),
        let identity = try directory.folder.identity(of: names.part),
        identity.isSameFile(as: try part.identity())
      else { return false }
      // Read under the part's lock: who holds it may replace the record.
      guard let current = try readRecord(), current.owner == owner else { return false }
      _ = try directory.folder.removeOwn(names.draft(directory.secret, 0))
      // Step 6: it is finished, under another name as well. Emptying it here would empty it there.
      if try part.linkCount() > 1 {
        try directory.folder.remove(names.part)
        try directory.folder.remove(names.record)
        directory.forgetRecord(names.record)
        return true
      }
      found = current
      foundLength = identity.size
      descriptor = part
      isNamed = true
      hasRecord = true
      return true
    } catch {
      throw directory.failure(error, "opening", names.part)
    }
  }

  /// What cannot be opened because of what it is, or whose, is no part of dlm's.
  /// - Returns: false: the candidate is somebody else's.
  /// - Throws: any other failure.
  private static func isForeign(_ error: Errno) throws(Errno) -> Bool {
    switch error {
    case .tooManySymbolicLinkLevels, .isDirectory, .permissionDenied, .notPermitted, .noSuchAddressOrDevice:
      false
    default: throw error
    }
  }

  /// A record without a part: left by a process killed between steps 2 and 3 or 7 and 8, or of one that is
  /// there right now and holds its lock.
  private func removeOrphan(_ record: borrowing Descriptor) throws(Errno) -> Bool {
    guard record.lock() else { return false }
    defer { record.unlock() }
    guard let current = try readRecord(), current.owner == owner,
      try directory.folder.identity(of: names.part) == nil
    else { return false }
    try directory.folder.remove(names.record)
    directory.forgetRecord(names.record)
    return true
  }

  private func readRecord() throws(Errno) -> PartialRecord? {
    do throws(Errno) {
      let file = try directory.folder.open(names.record, O_RDONLY | O_NONBLOCK)
      guard try file.isOwn() else { return nil }
      // A record is a few hundred bytes; whatever is longer is none.
      let json = try file.read(Self.longestRecord + 1)
      return json.count > Self.longestRecord ? nil : PartialRecord(json: json, secret: directory.secret)
    } catch .noSuchFileOrDirectory { return nil }
  }

  // MARK: Opening and showing

  /// Opens a fresh file for writing. Where it has a name from the start (`isNamed`), `show` must give it its
  /// record next.
  mutating func open() throws(DownloadError) {
    if directory.route != nil {
      do throws(Errno) { descriptor = try directory.folder.openUnnamed() } catch {
        throw directory.failure(error, "creating", names.part)
      }
      return
    }
    while true {
      if try openNamed() {
        isNamed = true
        return
      }
      repeat { try advance() } while try !claimCandidate()
    }
  }

  /// - Returns: false if something stands there that is not an empty file nobody uses.
  private mutating func openNamed() throws(DownloadError) -> Bool {
    do throws(Errno) {
      if try directory.folder.identity(of: names.record) != nil { return false }
      do throws(Errno) {
        descriptor = try directory.folder.open(names.part, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
      } catch .fileExists {
        // Killed between making the part and its record, dlm leaves an empty file.
        guard let there = try directory.folder.identity(of: names.part), there.size == 0 else { return false }
        do throws(Errno) { descriptor = try directory.folder.open(names.part, O_RDWR | O_NONBLOCK) } catch {
          return try Self.isForeign(error)
        }
      }
      guard try descriptor.isOwn(), descriptor.lock(),
        let there = try directory.folder.identity(of: names.part),
        there.size == 0, there.isSameFile(as: try descriptor.identity())
      else { return false }
      return true
    } catch {
      throw directory.failure(error, "creating", names.part)
    }
  }

  /// Gives the file its visible name with a record beside it, so that it outlives the process.
  mutating func show(_ record: PartialRecord) throws(DownloadError) {
    if isNamed { return try replaceRecord(record) }
    guard let route = directory.route else { return }
    while true {
      if try link(record, route) {
        directory.noteRecord(names.record)
        isNamed = true
        hasRecord = true
        return
      }
      repeat { try advance() } while try !claimCandidate()
    }
  }

  private func link(_ record: PartialRecord, _ route: NamingRoute) throws(DownloadError) -> Bool {
    do throws(Errno) {
      // A foreign part must never stand beside a record of ours, not even for an instant.
      guard try directory.folder.identity(of: names.part) == nil else { return false }
      let file = try directory.folder.openUnnamed(mode: 0o600)
      var offset: Int64 = 0
      try file.write(record.json(directory.secret), at: &offset)
      // Before it can be seen: until it is finished, it is nobody else's to read or write.
      try descriptor.setMode(0o600)
      // Held until the part is there too: who finds the record alone leaves it in peace.
      guard file.lock(), descriptor.lock() else { return false }
      defer { file.unlock() }
      do throws(Errno) { try directory.folder.link(file, as: names.record, route) } catch .fileExists {
        return false
      }
      do throws(Errno) { try directory.folder.link(descriptor, as: names.part, route) } catch {
        try directory.folder.remove(names.record)
        guard error == .fileExists else { throw error }
        return false
      }
      return true
    } catch {
      throw directory.failure(error, "creating", names.part)
    }
  }

  private mutating func replaceRecord(_ record: PartialRecord) throws(DownloadError) {
    do throws(Errno) {
      let draft = try openDraft()
      var offset: Int64 = 0
      try draft.file.write(record.json(directory.secret), at: &offset)
      try directory.folder.rename(draft.name, replacing: names.record)
      directory.noteRecord(names.record)
      hasRecord = true
    } catch {
      throw directory.failure(error, "writing", names.record)
    }
  }

  private struct Draft: ~Copyable {
    let file: Descriptor
    let name: String
  }

  /// A new file for a record, under a name that nobody else could give. What stands there was left by a process of this
  /// user that was killed; or somebody saw the name and planted something, which stays, and another name is taken.
  private func openDraft() throws(Errno) -> Draft {
    var number = 0
    while true {
      let name = names.draft(directory.secret, number)
      do throws(Errno) {
        return Draft(
          file: try directory.folder.open(name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600), name: name)
      } catch .fileExists where number < 8 {
        if try !directory.folder.removeOwn(name) { number += 1 }
      }
    }
  }
}
