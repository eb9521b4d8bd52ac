import Glibc
import Synchronization
import SystemPackage

/// Which requests the processes of this user have under way, so that two `dlm get` of one list do not fetch it twice
/// (http.md 19).
///
/// A table in shared memory, of which each process has a segment of slots; a slot holds the hash of a request under way.
/// To claim a request is to write it into a slot of one's own and then to look whether another segment has it too: of two
/// that do this at once at least one sees the other, since both write before they look. A process holds a lock on its
/// segment's byte of the file, and the kernel frees it when the process ends, however it ends: what stands in a segment that
/// nobody has locked is left from a killed process and counts for nothing.
///
///     file   │ header │ segment 0: 512 slots │ segment 1 │ …
///     locks  │        └ byte 0               └ byte 1
///
/// No system call a file, where a lock a file would be two; the kernel is asked only when a hash is found twice.
final class ProcessClaims: Sendable {
  /// A request that this process has under way; it is free for others again when the claim is gone.
  struct Claim: ~Copyable, Sendable {
    fileprivate let owner: ProcessClaims?
    fileprivate let slot: Int

    /// Of a run that no other process meets.
    static var ofNothing: Claim { Claim(owner: nil, slot: -1) }

    deinit { owner?.release(slot) }
  }

  private static let segments = 64
  private static let slots = 512
  /// Words before the first segment: the format, how many segments were ever in use, how many processes ever came.
  private static let header = 512
  private static let format: UInt64 = 0x646C_6D31
  private static var bytes: Int { (header + segments * slots) * 8 }

  private typealias Word = Atomic<UInt64>

  /// The mapping with what is this process's. Only ever used under the lock; other processes see its words all the same.
  private struct Table: ~Copyable {
    let words: UnsafeMutablePointer<Word>
    let file: Descriptor
    let mine: Int
    var free: [Int]

    func word(_ segment: Int, _ slot: Int) -> UnsafeMutablePointer<Word> {
      words + (ProcessClaims.header + segment * ProcessClaims.slots + slot)
    }

    deinit { munmap(UnsafeMutableRawPointer(words), ProcessClaims.bytes) }
  }

  private let table: Mutex<Table>
  /// How many processes had come when this one had, and whether one of them was there.
  private let arrival: UInt64
  private let cameToOthers: Bool

  /// - Returns: nil where there is no such table (a read-only home, a file system without locks, too many processes): then
  ///   two processes may fetch one file twice, and the naming at the end keeps both right.
  init?(in path: FilePath) {
    guard let folder = try? Folder(path, mode: 0o700),
      let file = try? folder.open("under-way", O_RDWR | O_CREAT, mode: 0o600),
      (try? file.isOwn()) == true, Self.makeRoom(in: file),
      let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, 0),
      memory != MAP_FAILED
    else { return nil }
    let words = memory.bindMemory(to: Word.self, capacity: Self.bytes / 8)
    let (_, found) = words[0].compareExchange(
      expected: 0, desired: Self.format, ordering: .sequentiallyConsistent)
    guard found == 0 || found == Self.format,
      let mine = (0..<Self.segments).first(where: { Self.lock(byte: $0, of: file) })
    else {
      munmap(memory, Self.bytes)
      return nil
    }
    let table = Table(words: words, file: file, mine: mine, free: Array((0..<Self.slots).reversed()))
    // What a process left that had the segment before and was killed.
    for slot in 0..<Self.slots { table.word(mine, slot).pointee.store(0, ordering: .relaxed) }
    words[1].max(UInt64(mine + 1), ordering: .sequentiallyConsistent)
    arrival = words[2].add(1, ordering: .sequentiallyConsistent).newValue
    cameToOthers = (0..<Int(words[1].load(ordering: .sequentiallyConsistent))).contains {
      $0 != mine && Self.isAlive($0, table.file)
    }
    self.table = Mutex(table)
  }

  /// Whether another process was there when this one began, or has come since: then what it fetched may be in no index yet.
  var hasCompany: Bool {
    cameToOthers || table.withLock { $0.words[2].load(ordering: .sequentiallyConsistent) != arrival }
  }

  /// Claims a request, unless another process has it. Never waits.
  ///
  /// Where more are under way than a segment holds, the request is taken without others seeing it.
  /// - Returns: nil if another living process has it.
  func take(_ hash: UInt64) -> Claim? {
    // Zero means a free slot.
    let hash = hash | 1
    let slot = table.withLock { table -> Int? in
      let slot = table.free.popLast() ?? -1
      guard slot >= 0 else { return slot }
      table.word(table.mine, slot).pointee.store(hash, ordering: .sequentiallyConsistent)
      if !Self.isElsewhere(hash, table) { return slot }
      table.word(table.mine, slot).pointee.store(0, ordering: .sequentiallyConsistent)
      table.free.append(slot)
      return nil
    }
    guard let slot else { return nil }
    return Claim(owner: self, slot: slot)
  }

  private static func isElsewhere(_ hash: UInt64, _ table: borrowing Table) -> Bool {
    let count = min(Int(table.words[1].load(ordering: .sequentiallyConsistent)), segments)
    for segment in 0..<count where segment != table.mine {
      for slot in 0..<slots
      where table.word(segment, slot).pointee.load(ordering: .sequentiallyConsistent) == hash {
        if isAlive(segment, table.file) { return true }
        break
      }
    }
    return false
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
    guard let identity = try? file.identity() else { return false }
    if identity.size >= Int64(bytes) { return true }
    // Longer only: what is there stays.
    return ftruncate(file.raw, off_t(bytes)) == 0
  }

  private static func region(_ byte: Int) -> Glibc.flock {
    var region = Glibc.flock()
    region.l_type = Int16(F_WRLCK)
    region.l_whence = Int16(SEEK_SET)
    region.l_start = off_t(byte)
    region.l_len = 1
    return region
  }

  // Open file description locks (fcntl(2), F_OFD_SETLK and F_OFD_GETLK, which Swift's Glibc module does not show): they
  // belong to this opening of the file, and not to whoever opens it again in this process.

  private static func lock(byte: Int, of file: borrowing Descriptor) -> Bool {
    var region = region(byte)
    return fcntl(file.raw, 37, &region) == 0
  }

  private static func isAlive(_ segment: Int, _ file: borrowing Descriptor) -> Bool {
    var region = region(segment)
    guard fcntl(file.raw, 36, &region) == 0 else { return false }
    return region.l_type != Int16(F_UNLCK)
  }
}
