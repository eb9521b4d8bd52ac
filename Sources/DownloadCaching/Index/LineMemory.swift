import Glibc
import SystemPackage

/// Memory in which the lines of a journal stand, one after the other: the file's own, so that a line is in the file,
/// also for other processes, as soon as it is written here, and stays there if this process is killed. Where the file
/// cannot be mapped it is the process's own memory, and each line is written to the file too.
///
/// A page of a mapped file for which the disk has no room ends the process (SIGBUS, mmap(2)). So room is made first, as
/// SQLite does for the memory that its processes share; that call fails as a write does.
struct LineMemory: ~Copyable {
  private var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var used = 0
  private var isMapped = false
  /// How much it begins with.
  private let least: Int

  /// - Parameter room: how many bytes the lines may come to; zero where that is not known.
  init(room: Int) {
    // At least enough for a few dozen files.
    least = max(room, 16 << 10)
  }

  deinit { Self.unmap(bytes) }

  private static func unmap(_ bytes: UnsafeMutableRawBufferPointer) {
    if let start = bytes.baseAddress { munmap(start, bytes.count) }
  }

  /// Must be called before each line.
  /// - Parameters:
  ///   - count: how long the line may be.
  ///   - file: closed for none.
  /// - Throws: the errno of making the file longer; `.fileTooLarge` for more than a journal can be.
  mutating func makeRoom(for count: Int, in file: borrowing Descriptor) throws(Errno) {
    guard bytes.count - used < count else { return }
    var size = max(bytes.count * 4, least)
    while size < used + count { size *= 2 }
    size = min(size, Int(CommitJournal.longest))
    guard size >= used + count else { throw .fileTooLarge }
    if file.isOpen, isMapped || used == 0 {
      try file.makeRoom(size)
      // MAP_POPULATE, which Swift's Glibc module does not export: else each page would be a fault of its own.
      if map(size, PROT_READ | PROT_WRITE, MAP_SHARED | 0x8000, file.raw) {
        isMapped = true
        return
      }
    }
    let before = bytes
    bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    guard map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) else {
      bytes = before
      throw .noMemory
    }
    isMapped = false
    bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: before[..<used]))
    Self.unmap(before)
  }

  /// Takes the place of what was mapped.
  private mutating func map(_ size: Int, _ protection: Int32, _ flags: Int32, _ file: Int32) -> Bool {
    guard let start = mmap(nil, size, protection, flags, file, 0), start != MAP_FAILED else { return false }
    Self.unmap(bytes)
    bytes = UnsafeMutableRawBufferPointer(start: start, count: size)
    return true
  }

  /// How much has been written.
  var count: Int { used }

  /// - Parameter write: writes a line at the start of the bytes that it is given, and returns how long it is; nil if
  ///   they are too few.
  /// - Returns: where it begins.
  mutating func append(_ write: (UnsafeMutableRawBufferPointer) -> Int?) -> Int? {
    let start = used
    guard let length = write(UnsafeMutableRawBufferPointer(rebasing: bytes[start...])) else { return nil }
    used += length
    return start
  }

  /// Calls `body` with the last bytes of what was appended, without the line feed at its end.
  /// - Returns: where they begin.
  mutating func rewrite(last length: Int, _ body: (UnsafeMutableRawBufferPointer) -> Void) -> Int {
    let start = used - 1 - length
    body(UnsafeMutableRawBufferPointer(rebasing: bytes[start..<(used - 1)]))
    return start
  }

  /// Writes what was appended to the file, where it is not there already.
  func copy(from start: Int, to file: borrowing Descriptor) throws(Errno) {
    guard !isMapped else { return }
    var offset = Int64(start)
    try file.write(UnsafeRawBufferPointer(rebasing: bytes[start..<used]), at: &offset)
  }

  /// - Parameters:
  ///   - start: where the line begins.
  ///   - body: gets it without its line feed.
  func withLine<Answer>(at start: Int, _ body: (UnsafeRawBufferPointer) throws -> Answer) rethrows -> Answer {
    let rest = UnsafeRawBufferPointer(rebasing: bytes[start..<used])
    guard let first = rest.baseAddress, let end = memchr(first, CInt(UInt8(ascii: "\n")), rest.count) else {
      return try body(rest)
    }
    return try body(UnsafeRawBufferPointer(start: first, count: UnsafeRawPointer(end) - first))
  }
}
