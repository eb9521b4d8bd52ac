import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage

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
