import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage

/// The rows of one batch, on disk before their files get their names: if dlm is killed before the batch is in SQLite,
/// the next run still recognises those files as dlm's own.
///
/// One file for each batch, `<pid>-<random>-<tag>.log`, made at the first line, locked while its process lives, and
/// removed when the batch is in SQLite. Its tag proves it this user's (`UserSecret`): no other is touched.
///
/// Lines are written to memory that is the file's own (`LineMemory`): without a system call, and they survive the
/// process. The file is not synced: a line lost in a power cut costs one download.
final class CommitJournal: Sendable {
  private let folder: Folder
  private let secret: UserSecret
  private let claims: ProcessClaims?
  private let state: Lock<State>

  private struct State: ~Copyable {
    /// Closed before the first line, and after a failure.
    var file = Descriptor.closed
    var name = ""
    var lines: LineMemory
    var failure: DownloadError?
  }

  private static let suffix = ".log"
  /// No batch is nearly so long: a longer file is not a journal.
  static let longest: Int64 = 1 << 26

  /// `claims` counts journals for other processes. `room` is how many bytes the lines may come to.
  init(in folder: Folder, _ secret: UserSecret, _ claims: ProcessClaims? = nil, room: Int = 0) {
    self.folder = folder
    self.secret = secret
    self.claims = claims
    state = Lock(State(lines: LineMemory(room: room)))
  }

  static func isName(_ name: String, _ secret: UserSecret) -> Bool {
    name.hasSuffix(suffix) && secret.isName("journal", String(name.dropLast(suffix.count)))
  }

  /// Adds the line of a row. Returns where it begins; nil if it is too long for a journal.
  @discardableResult
  func append(_ row: CacheRow) -> Int? {
    state.withLock { state in
      do throws(Errno) {
        if state.name.isEmpty { try open(&state) }
        return try Self.append(row, &state)
      } catch {
        state.failure =
          state.failure ?? DownloadError(.cache, error, folder.path + "/" + state.name, "writing the journal")
        state.file = .closed
        return try? Self.append(row, &state)
      }
    }
  }

  private static func append(_ row: CacheRow, _ state: inout State) throws(Errno) -> Int {
    try state.lines.makeRoom(for: JournalLine.room(for: row), in: state.file)
    return state.lines.append { JournalLine.write(row, into: $0) }
  }

  /// Notes in the line that was added last, at `place`, when its file got its name.
  func note(_ changed: ChangeTime, at place: Int) {
    state.withLock { state in state.lines.rewrite(from: place) { JournalLine.write(changed, into: $0) } }
  }

  /// Why lines are in memory alone, so that the next run would not know their files after a SIGKILL.
  var failure: DownloadError? { state.withLock { $0.failure } }

  func row(at place: Int) -> CacheRow? { state.withLock { JournalLine(startOf: $0.lines.bytes(from: place))?.row } }

  var length: Int { state.withLock { $0.lines.count } }

  /// Calls `body` with the lines that begin at these places. Nothing is to be appended any more.
  func forEachLine<Failure>(at places: [Int], _ body: (JournalLine) throws(Failure) -> Void) throws(Failure) {
    try state.withLock { state throws(Failure) in
      for place in places {
        if let line = JournalLine(startOf: state.lines.bytes(from: place)) { try body(line) }
      }
    }
  }

  private func open(_ state: inout State) throws(Errno) {
    while true {
      state.name = secret.freshName("journal") + Self.suffix
      do throws(Errno) {
        state.file = try folder.open(state.name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
      } catch .fileExists { continue }
      // Before it was locked, a process that starts may have taken it for an abandoned one and removed it.
      if state.file.lock(), try folder.identity(of: state.name)?.isSameFile(as: state.file.identity()) == true {
        claims?.countJournal()
        return
      }
    }
  }

  func retire() throws(DownloadError) {
    try state.withLock { state throws(DownloadError) in
      guard !state.name.isEmpty else { return }
      do throws(Errno) { try folder.remove(state.name) } catch {
        throw DownloadError(.cache, error, folder.path + "/" + state.name, "removing the journal")
      }
      state.file = .closed
    }
  }

  // MARK: Those of processes that have ended

  /// Passes the bytes of each journal whose process has ended to `body`, under its lock, and then removes it.
  /// - Throws: what `body` throws, or Errno; that journal stays for the next time.
  static func forEachAbandoned(in folder: Folder, _ secret: UserSecret, _ body: ([UInt8]) throws -> Void) throws {
    for name in try folder.names() where isName(name, secret) {
      // Locked where its process lives, or another process adopts it.
      guard let file = try folder.openOwn(name, closedTo: 0o077), try file.identity().size <= longest, file.lock(),
        try folder.identity(of: name)?.isSameFile(as: file.identity()) == true
      else { continue }
      try body(try file.read(Int(file.identity().size)))
      try folder.remove(name)
      file.unlock()
    }
  }
}

/// The lines of a journal, in memory that is the file's own: what is written here is in the file, for all processes.
///
/// If the disk has no room for a page of a mapped file, writing there ends the process (SIGBUS, mmap(2)). So room is
/// made first: that call fails as a write does.
struct LineMemory: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private(set) var count = 0
  private let least: Int

  init(room: Int) {
    // At least enough for a few dozen files.
    least = max(room, 16 << 10)
  }

  deinit { Self.unmap(memory) }

  private static func unmap(_ memory: UnsafeMutableRawBufferPointer) {
    if let start = memory.baseAddress { munmap(start, memory.count) }
  }

  /// Must be called before each line, with its greatest length and always the same file. From some time on that may be
  /// closed: then the memory is the process's own.
  /// - Throws: errno of making the file longer or mapping it; `.fileTooLarge` for more than a journal can be.
  mutating func makeRoom(for length: Int, in file: borrowing Descriptor) throws(Errno) {
    guard memory.count - count < length else { return }
    var size = max(memory.count * 4, least)
    while size < count + length { size *= 2 }
    size = min(size, Int(CommitJournal.longest))
    guard size >= count + length else { throw .fileTooLarge }
    if file.isOpen { try file.makeRoom(size) }
    // MAP_POPULATE, which Swift's Glibc module does not export: else each page would be a fault of its own.
    let flags = file.isOpen ? MAP_SHARED | 0x8000 : MAP_PRIVATE | MAP_ANONYMOUS
    guard let start = mmap(nil, size, PROT_READ | PROT_WRITE, flags, file.raw, 0), start != MAP_FAILED else {
      throw Errno(rawValue: errno)
    }
    let larger = UnsafeMutableRawBufferPointer(start: start, count: size)
    if !file.isOpen { larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count])) }
    Self.unmap(memory)
    memory = larger
  }

  /// `write` returns the length of what it wrote; this returns where that begins.
  mutating func append(_ write: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
    let start = count
    count += write(UnsafeMutableRawBufferPointer(rebasing: memory[start...]))
    return start
  }

  mutating func rewrite(from start: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(UnsafeMutableRawBufferPointer(rebasing: memory[start..<count]))
  }

  func bytes(from start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<count]) }
}
