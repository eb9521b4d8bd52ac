import DownloadModel
import Glibc
import Synchronization
package import SystemPackage

/// Which requests this user's processes have under way, so that no two fetch a file at once (HTTP rule 19).
///
/// A table in shared memory, in which each process has a section of slots; a slot holds the hash of a request under
/// way. To claim one, a process writes it into a slot of its own and then looks whether another section has it too: of
/// two that do this at once, at least one sees the other. Each process holds a lock on its section's byte of the file,
/// which the kernel frees however the process ends: an unlocked section is ignored.
///
///     file   │ header │ segment 0: 512 slots │ segment 1 │ …
///     locks  │        └ byte 0               └ byte 1
///
/// A claim needs no system call; the kernel is asked only when a hash is found twice.
package final class ProcessClaims: Sendable {
  /// A request that this process has under way; dropping the value frees the request for other processes.
  package struct Claim: ~Copyable, Sendable {
    fileprivate let owner: ProcessClaims?
    fileprivate let slot: Int

    deinit { owner?.release(slot) }
  }

  /// Another living process has the request under way.
  package struct ClaimedElsewhere: Error {
    /// Its number; nil if it did not write one.
    package let process: Int?
  }

  private static let segments = 64
  private static let slots = 512
  /// Words before the first section: the format; how many sections were ever in use, processes ever began, and journals
  /// were ever made; from `numbers` on, the process number of each section's owner.
  private static let header = 512
  private static let numbers = 8
  private static let format: UInt64 = 0x646C_6D31
  private static var bytes: Int { (header + segments * slots) * 8 }

  private typealias Word = Atomic<UInt64>

  /// The mapping, whose words other processes read and write without the lock.
  private struct Table: ~Copyable {
    let words: UnsafeMutablePointer<Word>
    let file: Descriptor
    let mine: Int
    var free: [Int]

    /// How many sections were ever in use. What stands there may be damaged.
    var count: Int { Int(min(words[1].load(ordering: .sequentiallyConsistent), UInt64(ProcessClaims.segments))) }

    func word(_ segment: Int, _ slot: Int) -> UnsafeMutablePointer<Word> {
      words + (ProcessClaims.header + segment * ProcessClaims.slots + slot)
    }

    deinit { munmap(UnsafeMutableRawPointer(words), ProcessClaims.bytes) }
  }

  private let table: Lock<Table>
  /// The count of processes when this one began, and whether another one was alive then.
  private let arrival: UInt64
  private let cameToOthers: Bool

  /// - Returns: nil where no such table can be had (a read-only home, a file system without locks, too many processes,
  ///   a folder or file that others may write): then two processes may fetch one file twice, and the atomic
  ///   naming at the end keeps both right.
  package init?(in path: FilePath) {
    guard let folder = try? Folder(own: path), let file = try? folder.open("under-way", O_RDWR | O_CREAT, mode: 0o600),
      (try? file.isOwn()) == true, Self.makeRoom(in: file),
      let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, 0),
      memory != MAP_FAILED
    else { return nil }
    let words = memory.bindMemory(to: Word.self, capacity: Self.bytes / 8)
    let (_, found) = words[0].compareExchange(expected: 0, desired: Self.format, ordering: .sequentiallyConsistent)
    guard found == 0 || found == Self.format,
      let mine = (0..<Self.segments).first(where: { Self.lock(byte: $0, of: file) })
    else {
      munmap(memory, Self.bytes)
      return nil
    }
    let table = Table(words: words, file: file, mine: mine, free: Array((0..<Self.slots).reversed()))
    // Slots that a killed process left in the same section.
    for slot in 0..<Self.slots { table.word(mine, slot).pointee.store(0, ordering: .relaxed) }
    words[Self.numbers + mine].store(UInt64(getpid()), ordering: .relaxed)
    words[1].max(UInt64(mine + 1), ordering: .sequentiallyConsistent)
    arrival = words[2].wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    cameToOthers = (0..<table.count).contains { $0 != mine && Self.isAlive($0, table.file) }
    self.table = Lock(table)
  }

  /// Whether another process was alive when this one began, or has begun since: its files may not be in the index yet.
  package var hasCompany: Bool {
    cameToOthers || table.withLock { $0.words[2].load(ordering: .sequentiallyConsistent) != arrival }
  }

  /// How many journals this user's processes ever made. To be read after a claim was obtained: then those of the
  /// processes that had it before are counted (`LivingJournals`).
  package var journalsMade: UInt64 { table.withLock { $0.words[3].load(ordering: .sequentiallyConsistent) } }

  /// Must be called before the claim of the first request in the journal is freed.
  package func countJournal() { table.withLock { _ = $0.words[3].wrappingAdd(1, ordering: .sequentiallyConsistent) } }

  /// Claims a request, unless another process has it. If more are under way than a section has slots, the claim
  /// succeeds but other processes do not see it.
  /// - Throws: who has it.
  package func take(_ hash: UInt64) throws(ClaimedElsewhere) -> Claim {
    // Zero means a free slot.
    let hash = hash | 1
    let slot = try table.withLock { table throws(ClaimedElsewhere) -> Int in
      guard let slot = table.free.popLast() else { return -1 }
      let word = table.word(table.mine, slot)
      word.pointee.store(hash, ordering: .sequentiallyConsistent)
      guard let segment = Self.holder(hash, table) else { return slot }
      word.pointee.store(0, ordering: .sequentiallyConsistent)
      table.free.append(slot)
      let number = table.words[Self.numbers + segment].load(ordering: .relaxed)
      throw ClaimedElsewhere(process: number == 0 ? nil : Int(exactly: number))
    }
    return Claim(owner: self, slot: slot)
  }

  private static func holder(_ hash: UInt64, _ table: borrowing Table) -> Int? {
    for segment in 0..<table.count where segment != table.mine {
      for slot in 0..<slots where table.word(segment, slot).pointee.load(ordering: .sequentiallyConsistent) == hash {
        if isAlive(segment, table.file) { return segment }
        break
      }
    }
    return nil
  }

  private func release(_ slot: Int) {
    guard slot >= 0 else { return }
    table.withLock { table in
      table.word(table.mine, slot).pointee.store(0, ordering: .sequentiallyConsistent)
      table.free.append(slot)
    }
  }

  // MARK: The file

  private static func makeRoom(in file: borrowing Descriptor) -> Bool {
    // Only ever made longer, so that its content stays.
    (try? file.identity().size >= Int64(bytes)) ?? false || ftruncate(file.raw, off_t(bytes)) == 0
  }

  // Open file description locks (fcntl(2), F_OFD_SETLK and F_OFD_GETLK, which Swift's Glibc module does not export):
  // they belong to this opening of the file, not to the whole process.

  private static func region(_ byte: Int) -> Glibc.flock {
    Glibc.flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: off_t(byte), l_len: 1, l_pid: 0)
  }

  private static func lock(byte: Int, of file: borrowing Descriptor) -> Bool {
    var region = region(byte)
    return fcntl(file.raw, 37, &region) == 0
  }

  private static func isAlive(_ segment: Int, _ file: borrowing Descriptor) -> Bool {
    var region = region(segment)
    return fcntl(file.raw, 36, &region) == 0 && region.l_type != Int16(F_UNLCK)
  }
}
