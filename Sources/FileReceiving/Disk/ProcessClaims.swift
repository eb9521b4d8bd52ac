import DownloadModel
import Glibc
import Synchronization
package import SystemPackage

/// The requests that this user's processes have in flight, so that no two download a file at once (HTTP rule 19), and
/// their use of each host, so that together they are one polite client (HTTP rule 37).
///
/// A table in shared memory, in which each process has a section of slots; a slot holds the hash of a request in
/// flight. To claim a request, a process writes its hash into a slot of its own, and then checks whether another
/// section has it too. If two processes do this at once, at least one sees the other. Each process holds a lock on its
/// section's byte of the file, which the kernel frees however the process ends. An unlocked section is ignored.
///
///     file   │ header │ section 0: 2048 slots, 64 notes │ section 1 │ …
///     locks  │        └ byte 0                          └ byte 1
///
/// A claim or a note needs no system call. The kernel is asked only if a hash is found twice, or for other processes'
/// notes.
///
/// Access to a mapped page without space on the disk, or beyond a shortened file, ends the process (SIGBUS, mmap(2)).
/// So space is allocated for every section that was ever in use. Only dlm writes the file, and dlm never shortens it. A
/// program that shortens it crashes each dlm that uses it, as shortening an SQLite `-shm` file would.
package final class ProcessClaims: SharedAccounts {
  /// A request that this process has claimed. Dropping the value frees the request for other processes.
  package struct Claim: ~Copyable, Sendable {
    fileprivate let owner: ProcessClaims
    fileprivate var slot: Int

    deinit { owner.release([slot]) }

    /// Keeps the claim until the returned number is passed to `ProcessClaims.release`.
    mutating func handOver() -> Int {
      defer { slot = ProcessClaims.unseen }
      return slot
    }
  }

  /// Another living process has the request in flight.
  package struct ClaimedElsewhere: Error {
    /// The number of that process; `nil` if it did not write one.
    package let process: Int?
  }

  private static let segments = 64
  /// Enough for the files in flight and the finished ones whose rows are not yet in the index.
  private static let slots = 2048
  /// The slot of a claim that no other process sees.
  fileprivate static let unseen = -1
  /// Notes of hosts in a section, of eight words each; and the number of places where one host's note may be.
  private static let notes = 64
  private static let near = 4
  private static var section: Int { slots + notes * 8 }
  /// Words before the first section: the format; the number of sections ever in use, and of processes ever started;
  /// from `numbers` on, the process number of each section's owner.
  private static let header = 512
  private static let numbers = 8
  /// After these numbers: pairs of an account's number and the time until which it is booked (`SharedAccounts`).
  private static let accounts = numbers + segments..<header
  private static let (accountTime, longestAccount): (UInt64, UInt64) = (60_000_000_000, 86_400_000_000_000)
  private static let format: UInt64 = 0x646C_6D33
  private static var bytes: Int { (header + segments * section) * 8 }

  private typealias Word = Atomic<UInt64>

  /// The mapping. Other processes read and write its words without the lock.
  private struct Table: ~Copyable {
    let words: UnsafeMutablePointer<Word>
    let file: Descriptor
    let mine: Int
    var free: [Int]

    var count: Int { ProcessClaims.count(words) }

    func word(_ segment: Int, _ slot: Int) -> UnsafeMutablePointer<Word> {
      words + (ProcessClaims.header + segment * ProcessClaims.section + slot)
    }

    /// - Parameter step: which of the places for one host.
    func note(of host: UInt64, _ segment: Int, _ step: Int) -> UnsafeMutablePointer<Word> {
      word(segment, ProcessClaims.slots + Int((host &+ UInt64(step)) % UInt64(ProcessClaims.notes)) * 8)
    }

    deinit { munmap(UnsafeMutableRawPointer(words), ProcessClaims.bytes) }
  }

  private let table: Lock<Table>
  /// The number of processes ever started, up to and including this one.
  private let arrival: UInt64
  /// Whether another process was alive when this one started.
  private let cameToOthers: Bool
  /// Differs after each start of the machine, with which the clock of accounts starts again.
  private static let boot: UInt64 = {
    let file = Descriptor(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC))
    return Hash.of((try? file.read(64)) ?? [])
  }()

  /// - Returns: `nil` if the table is not available (a read-only home, a file system without locks, too many processes,
  ///   a folder or file that others may write, a full disk). Two processes may then download one file twice, and the
  ///   atomic naming at the end keeps both correct.
  /// - Parameter noRoom: called if the disk has no space for the table.
  package init?(in path: FilePath, noRoom: (Errno) -> Void = { _ in }) {
    guard let folder = try? Folder(own: path), let file = try? folder.open("under-way", O_RDWR | O_CREAT, mode: 0o600),
      (try? file.isOwn()) == true, Self.makeRoom(in: file, sections: 0, noRoom),
      let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, 0),
      memory != MAP_FAILED
    else { return nil }
    let words = memory.bindMemory(to: Word.self, capacity: Self.bytes / 8)
    // A new file, or one of another version that no living process uses.
    if words[0].shared != Self.format,
      !(0..<Self.segments).contains(where: { Self.isAlive($0, file) })
    {
      words[0].shared = Self.format
    }
    guard words[0].shared == Self.format,
      let mine = (0..<Self.segments).first(where: { Self.lock(byte: $0, of: file) }),
      Self.makeRoom(in: file, sections: max(mine + 1, Self.count(words)), noRoom)
    else {
      munmap(memory, Self.bytes)
      return nil
    }
    let table = Table(words: words, file: file, mine: mine, free: Array((0..<Self.slots).reversed()))
    // Clears what a killed process left in the same section.
    for slot in 0..<Self.section { table.word(mine, slot).pointee.store(0, ordering: .relaxed) }
    words[Self.numbers + mine].store(UInt64(getpid()), ordering: .relaxed)
    words[1].max(UInt64(mine + 1), ordering: .sequentiallyConsistent)
    arrival = words[2].wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    cameToOthers = (0..<table.count).contains { $0 != mine && Self.isAlive($0, table.file) }
    self.table = Lock(table)
  }

  /// Whether another process was alive when this one started, or has started since. Its files may not be in the index
  /// yet.
  package var hasCompany: Bool {
    cameToOthers || table.withLock { $0.words[2].shared != arrival }
  }

  /// Claims a request, unless another process has it. If more requests are in flight than a section has slots, the
  /// claim succeeds but other processes do not see it.
  /// - Throws: the process that has the request.
  package func take(_ hash: UInt64) throws(ClaimedElsewhere) -> Claim {
    // Zero means a free slot.
    let hash = hash | 1
    let slot = try table.withLock { table throws(ClaimedElsewhere) -> Int in
      guard let slot = table.free.popLast() else { return Self.unseen }
      let word = table.word(table.mine, slot)
      word.pointee.shared = hash
      guard let segment = Self.holder(hash, table) else { return slot }
      word.pointee.shared = 0
      table.free.append(slot)
      let number = table.words[Self.numbers + segment].load(ordering: .relaxed)
      throw ClaimedElsewhere(process: number == 0 ? nil : Int(exactly: number))
    }
    return Claim(owner: self, slot: slot)
  }

  private static func holder(_ hash: UInt64, _ table: borrowing Table) -> Int? {
    for segment in 0..<table.count where segment != table.mine {
      for slot in 0..<slots where table.word(segment, slot).pointee.shared == hash {
        if isAlive(segment, table.file) { return segment }
        break
      }
    }
    return nil
  }

  /// Frees claims that were handed over.
  package func release(_ slots: [Int]) {
    table.withLock { table in
      for slot in slots where slot != Self.unseen {
        table.word(table.mine, slot).pointee.shared = 0
        table.free.append(slot)
      }
    }
  }

  // MARK: Hosts

  package func number(of host: String) -> UInt64 { Hash.of(host.utf8) | 1 }

  package var now: UInt64 { WallClock.sinceBoot() }

  /// Publishes this process's use of a host to the others. The first word is the host's number. The second is zero if
  /// the note may be overwritten. Without a free place, no other process sees the note.
  package func tell(_ note: SIMD8<UInt64>) {
    table.withLock { table in
      var place: UnsafeMutablePointer<Word>?
      for step in 0..<Self.near {
        let other = table.note(of: note[0], table.mine, step)
        let isOwn = other[0].load(ordering: .relaxed) == note[0]
        if isOwn || place == nil && other[1].load(ordering: .relaxed) == 0 { place = other }
        if isOwn { break }
      }
      guard let place else { return }
      // A reader must not take one host's words for another's.
      if place[0].load(ordering: .relaxed) != note[0] { place[0].shared = 0 }
      for index in (0..<8).reversed() where place[index].load(ordering: .relaxed) != note[index] {
        place[index].shared = note[index]
      }
    }
  }

  /// The notes of living processes on a host, and the index of this process's own; `nil` if it has none.
  package func notes(of host: UInt64) -> (all: [SIMD8<UInt64>], own: Int)? {
    table.withLock { table in
      var (all, own): ([SIMD8<UInt64>], Int?) = ([], nil)
      for segment in 0..<table.count {
        for step in 0..<Self.near {
          let words = table.note(of: host, segment, step)
          guard words[0].shared == host,
            segment == table.mine || Self.isAlive(segment, table.file)
          else { continue }
          var note = SIMD8<UInt64>()
          for index in (0..<8).reversed() { note[index] = words[index].shared }
          guard note[0] == host else { continue }
          if segment == table.mine { own = all.count }
          all.append(note)
          break
        }
      }
      return own.map { (all, $0) }
    }
  }

  // MARK: Accounts

  /// The words of an account. A new account takes over the words of one that was not booked for a minute.
  /// - Returns: `nil` if all places for this account are in use.
  private static func place(
    of account: UInt64, _ words: UnsafeMutablePointer<Word>, at time: UInt64
  ) -> UnsafeMutablePointer<Word>? {
    let places = (0..<UInt64(near)).map { step in
      words + accounts.lowerBound + Int((account &+ step) % UInt64(accounts.count / 2)) * 2
    }
    if let own = places.first(where: { $0[0].shared == account }) { return own }
    for place in places {
      let (former, until) = (place[0].shared, place[1].shared)
      guard until < time - min(time, accountTime) || until > time + longestAccount else { continue }
      if place[0].compareExchange(expected: former, desired: account, ordering: .sequentiallyConsistent).exchanged {
        return place
      }
      // Another process took it at the same moment, perhaps for the same account.
      if place[0].shared == account { return place }
    }
    return nil
  }

  package func book(
    _ price: UInt64, of account: UInt64, from earliest: UInt64, within longest: UInt64
  ) -> UInt64? {
    let account = account ^ Self.boot
    return table.withLock { table in
      guard let place = Self.place(of: account, table.words, at: earliest) else { return nil }
      var until = place[1].shared
      while true {
        let start = max(min(until, earliest + longest), earliest)
        let result = place[1].compareExchange(
          expected: until, desired: start + price, ordering: .sequentiallyConsistent)
        if result.exchanged { return start }
        until = result.original
      }
    }
  }

  // MARK: The file

  /// The number of sections ever in use, bounded because the word may be damaged.
  private static func count(_ words: UnsafeMutablePointer<Word>) -> Int {
    Int(min(words[1].shared, UInt64(segments)))
  }

  /// Makes the file as long as the table, with space for the first sections. Never shortens it, so that its content
  /// stays.
  private static func makeRoom(in file: borrowing Descriptor, sections: Int, _ noRoom: (Errno) -> Void) -> Bool {
    do {
      if try file.identity().size < Int64(bytes) { try file.truncate(to: Int64(bytes)) }
      try file.makeRoom((header + sections * section) * 8)
      return true
    } catch {
      noRoom(error)
      return false
    }
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

extension Atomic<UInt64> {
  /// A word that other processes read and write: sequentially consistent, so that all agree on the order of changes.
  fileprivate var shared: UInt64 {
    get { load(ordering: .sequentiallyConsistent) }
    nonmutating set { store(newValue, ordering: .sequentiallyConsistent) }
  }
}
