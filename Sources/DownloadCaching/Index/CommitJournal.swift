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
    while true {
      if let place = state.lines.append({ JournalLine.write(row, into: $0) }) { return place }
      try state.lines.makeRoom(in: state.file)
    }
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
      do {
        state.file = try folder.open(state.name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
      } catch .fileExists { continue }
      // Before it was locked, a process that starts may have taken it for an abandoned one and removed it.
      if state.file.lock(), try folder.has(state.file, as: state.name) {
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
        try folder.has(file, as: name)
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
    least = max(room, 16 << 10)  // Enough for a few dozen files.
  }

  deinit { Self.unmap(memory) }

  private static func unmap(_ memory: UnsafeMutableRawBufferPointer) {
    if let start = memory.baseAddress { munmap(start, memory.count) }
  }

  /// Must be called where a line had no room, always with the same file. From some time on that may be closed: then the
  /// memory is the process's own.
  /// - Throws: errno of making the file longer or mapping it; `.fileTooLarge` for more than a journal can be.
  mutating func makeRoom(in file: borrowing Descriptor) throws(Errno) {
    let size = min(max(memory.count * 4, least), Int(CommitJournal.longest))
    guard size > memory.count else { throw .fileTooLarge }
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

  /// `write` returns the length of what it wrote, this where that begins; both nil if there is no room for it.
  mutating func append(_ write: (UnsafeMutableRawBufferPointer) -> Int?) -> Int? {
    let start = count
    guard let length = write(UnsafeMutableRawBufferPointer(rebasing: memory[start...])) else { return nil }
    count += length
    return start
  }

  mutating func rewrite(from start: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) {
    body(UnsafeMutableRawBufferPointer(rebasing: memory[start..<count]))
  }

  func bytes(from start: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<count]) }
}

/// A row as one line of a journal, with its columns as SQLite takes them without a copy.
///
///     length 4 │ check 4 │ changed 8 │ count 4, bytes │ count 4, bytes │ … │ zeros up to a multiple of 8
///
/// A count of -1 stands for nothing, and a number has eight bytes. The check is of all that follows `changed`, so that
/// what a power cut tore is no line; `changed` is written once the file has its name.
struct JournalLine {
  /// A line of another format fails the check.
  private static let format: UInt64 = 2
  private static let placeOfChange = 8
  private static let headLength = 16

  let bytes: UnsafeRawBufferPointer

  /// - Returns: nil where no line begins, or not all of it is there.
  init?(startOf bytes: UnsafeRawBufferPointer) {
    let length = Self.length(bytes)
    guard length >= Self.headLength, length <= bytes.count, length % 8 == 0 else { return nil }
    self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<length])
    guard Self.head(self.bytes) == bytes.loadUnaligned(as: UInt64.self) else { return nil }
  }

  /// As the line's own start says; 0 where there is none.
  static func length(_ bytes: UnsafeRawBufferPointer) -> Int {
    bytes.count < headLength ? 0 : Int(bytes.loadUnaligned(as: UInt32.self))
  }

  private static func head(_ line: UnsafeRawBufferPointer) -> UInt64 {
    var sum = format
    var place = headLength
    while place < line.count {
      sum = (sum ^ line.loadUnaligned(fromByteOffset: place, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
      sum ^= sum >> 29
      place += 8
    }
    return sum & ~0xFFFF_FFFF | UInt64(line.count)
  }

  // MARK: Writing

  /// Writes the line of a row, and returns its length; nil if the bytes, from a multiple of eight on, are too few. The
  /// head, which marks it as whole, comes last, also for other processes that see this memory.
  static func write(_ row: CacheRow, into bytes: UnsafeMutableRawBufferPointer) -> Int? {
    var line = Writer(bytes: bytes, count: headLength)
    row.read { fields in
      for column in RowColumn.all.dropLast() {
        switch fields.value(column) {
        case .text(nil), .number(nil): line.append(nil)
        case .number(let number?): withUnsafeBytes(of: number) { line.append($0) }
        case .text(var text?): text.withUTF8 { line.append(UnsafeRawBufferPointer($0)) }
        }
      }
    }
    let length = (line.count + 7) & ~7
    guard length <= bytes.count else { return nil }
    for place in line.count..<length { bytes[place] = 0 }
    write(row.changed, into: bytes)
    let head = head(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
    let start = bytes.baseAddress?.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    start?.pointee.store(head, ordering: .releasing)
    return length
  }

  static func write(_ changed: ChangeTime, into line: UnsafeMutableRawBufferPointer) {
    line.storeBytes(of: changed.number, toByteOffset: placeOfChange, as: Int64.self)
  }

  private struct Writer {
    let bytes: UnsafeMutableRawBufferPointer
    /// Bytes of the line so far, also where there was no room for them.
    var count: Int

    mutating func append(_ field: UnsafeRawBufferPointer?) {
      let start = count + 4
      defer { count = start + (field?.count ?? 0) }
      guard start + (field?.count ?? 0) <= bytes.count else { return }
      bytes.storeBytes(of: Int32(field?.count ?? -1), toByteOffset: count, as: Int32.self)
      if let field { UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: field) }
    }
  }

  // MARK: Reading

  /// Calls `body` with the lines of a journal, oldest first; what is no line is passed over.
  static func forEach(in journal: [UInt8], _ body: (JournalLine) throws -> Void) rethrows {
    try journal.withUnsafeBytes { journal in
      var place = 0
      while place < journal.count {
        let line = JournalLine(startOf: UnsafeRawBufferPointer(rebasing: journal[place...]))
        if let line { try body(line) }
        place += line?.bytes.count ?? 8
      }
    }
  }

  var row: CacheRow? {
    var fields = Fields(fields: [], changed: changed)
    fields.fields.reserveCapacity(RowColumn.all.count)
    forEachField { fields.fields.append($1) }
    return try? CacheRow(from: &fields)
  }

  private var changed: Int64 { bytes.loadUnaligned(fromByteOffset: Self.placeOfChange, as: Int64.self) }

  private func forEachField<Failure>(
    _ body: (RowColumn, UnsafeRawBufferPointer?) throws(Failure) -> Void
  ) throws(Failure) {
    var place = Self.headLength
    for column in RowColumn.all.dropLast() where place + 4 <= bytes.count {
      let count = Int(bytes.loadUnaligned(fromByteOffset: place, as: Int32.self))
      place += 4
      guard count >= 0, count <= bytes.count - place else {
        try body(column, nil)
        continue
      }
      try body(column, UnsafeRawBufferPointer(rebasing: bytes[place..<(place + count)]))
      place += count
    }
  }

  private static func number(_ field: UnsafeRawBufferPointer) -> Int64? {
    field.count == 8 ? field.loadUnaligned(as: Int64.self) : nil
  }

  private struct Fields: RowSource {
    var fields: [UnsafeRawBufferPointer?]
    let changed: Int64

    private func field(_ column: RowColumn) -> UnsafeRawBufferPointer? {
      column.rawValue < fields.count ? fields[column.rawValue] : nil
    }

    func text(_ column: RowColumn) -> String? { field(column).map { String(utf8: $0) } }

    func number(_ column: RowColumn) throws(NoRow) -> Int64? {
      if column == .changed { return changed }
      guard let field = field(column) else { return nil }
      guard let number = JournalLine.number(field) else { throw NoRow() }
      return number
    }
  }

  // MARK: Storing

  /// Stores the row by `CacheSchema.insert`. Its texts stay in place until then, so that SQLite need not copy them.
  func insert(by statement: Statement) throws(DatabaseError) {
    // What is not bound is NULL.
    defer { statement.reset() }
    try forEachField { column, field throws(DatabaseError) in
      guard let field else { return }
      if column.isNumber {
        if let number = Self.number(field) { try statement.bind(number, column.position) }
      } else {
        try statement.bindInPlace(field, column.position)
      }
    }
    try statement.bind(changed, RowColumn.changed.position)
    _ = try statement.step()
  }
}
