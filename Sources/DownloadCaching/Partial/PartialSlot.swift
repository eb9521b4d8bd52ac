import DownloadModel
import Glibc
import SystemPackage

/// The place in the output folder where one file's bytes wait, and its steps from nothing to a final name.
///
/// **Life of a file on disk.** A file starts without a name (O_TMPFILE). It gets `NAME.part` only together with
/// a record: when it is long enough to be worth resuming after SIGKILL, or when its transfer ends early. So a
/// `.part` without a record is never dlm's, and is never touched.
///
/// | step | killed after it, there is | and the next run |
/// |---|---|---|
/// | 1 unnamed file opened, written | nothing | starts over; less than 1 MiB is lost |
/// | 2 `NAME.part.json` linked, under lock | a record alone | finds no lock and no part: removes it |
/// | 3 `NAME.part` linked, under lock | part and record | resumes, or starts over in place |
/// | 4 record replaced by rename (other version) | part emptied before; old or new record | starts over in place |
/// | 5 line in the journal | as before, and a line | drops the line: its inode is not under its name |
/// | 6 final name linked to the part | the file under both names, and its record | finds two names, removes the part's and the record |
/// | 7 part's name gone, or an unnamed file linked | the finished file, perhaps a record alone | knows it by the journal; removes the record |
/// | 8 record removed | the finished file | knows it by the journal |
///
/// Where files need a name from the start (`OutputDirectory.route` is nil), step 1 makes `NAME.part` and locks
/// it, and the record follows before the first byte of the body: only an empty `.part` can lack one, and only
/// an empty one is taken over without.
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
  private var number = 0
  var claim: NameClaim?

  /// Takes the first of `x`, `x.1`, `x.2` … that nobody uses, or that holds this owner's part.
  /// - Throws: `.disk`, `.folder`; `.conflict` when a thousand names are taken.
  init(in directory: OutputDirectory, for owner: PartialOwner, base: String) throws(DownloadError) {
    self.directory = directory
    self.owner = owner
    self.base = base
    names = PartialName(base)
    // What this owner left under a number goes before a free name without one: else it would never be found again.
    for left in directory.numbersOfRecords(beside: base) {
      number = left
      if try claimCandidate(), try inspect(), found != nil { return }
    }
    number = 0
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
    guard number < 1000 else {
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
      do throws(Errno) {
        record = try directory.folder.open(names.record, O_RDONLY | O_NONBLOCK)
      } catch .noSuchFileOrDirectory {
        return true
      } catch .tooManySymbolicLinkLevels { return false }
      let part: Descriptor
      do throws(Errno) {
        part = try directory.folder.open(names.part, O_RDWR | O_NONBLOCK)
      } catch .noSuchFileOrDirectory {
        return try removeOrphan(record)
      } catch .tooManySymbolicLinkLevels { return false } catch .isDirectory { return false }
      // The name may have been renamed away between open and lock: then another process has just finished.
      guard part.lock(), let identity = try directory.folder.identity(of: names.part),
        identity.isSameFile(as: try part.identity())
      else { return false }
      // Read under the part's lock: who holds it may replace the record.
      guard let current = try readRecord(), current.owner == owner else { return false }
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
      guard try file.identity().isRegularFile else { return nil }
      // A record is a few hundred bytes; whatever is longer is none.
      return PartialRecord(json: try file.read(65_536))
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
        descriptor = try directory.folder.open(names.part, O_RDWR | O_CREAT | O_EXCL)
      } catch .fileExists {
        // Killed between making the part and its record, dlm leaves an empty file.
        guard let there = try directory.folder.identity(of: names.part), there.size == 0 else { return false }
        descriptor = try directory.folder.open(names.part, O_RDWR | O_NONBLOCK)
      }
      guard descriptor.lock(), let there = try directory.folder.identity(of: names.part),
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
      let file = try directory.folder.openUnnamed()
      var offset: Int64 = 0
      try file.write(record.json(), at: &offset)
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
      // What stands there is half a record of a process that was killed, or a link that someone planted.
      try directory.folder.remove(names.spare)
      let file = try directory.folder.open(names.spare, O_WRONLY | O_CREAT | O_EXCL)
      var offset: Int64 = 0
      try file.write(record.json(), at: &offset)
      try directory.folder.rename(names.spare, replacing: names.record)
      directory.noteRecord(names.record)
      hasRecord = true
    } catch {
      throw directory.failure(error, "writing", names.record)
    }
  }
}
