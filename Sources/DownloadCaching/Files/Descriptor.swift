import Glibc
import SystemPackage

/// An open file that closes itself when it goes out of use, so that no path through the code can leak it.
struct Descriptor: ~Copyable, Sendable {
  let raw: Int32

  init(_ raw: Int32) { self.raw = raw }

  /// Stands for "not open"; every call on it ends in EBADF.
  static var closed: Descriptor { Descriptor(-1) }

  var isOpen: Bool { raw >= 0 }

  deinit {
    // Nothing depends on this close any more: whoever needs its verdict calls `flushAndReport` before.
    if raw >= 0 { _ = Glibc.close(raw) }
  }

  /// Writes all bytes at `offset`, which moves with every byte that reached the file, also when it fails.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: inout Int64) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = pwrite(raw, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, off_t(offset))
      if count >= 0 {
        offset += Int64(count)
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw Errno(rawValue: errno)
      }
    }
  }

  func write(_ bytes: [UInt8], at offset: inout Int64) throws(Errno) {
    // Typed throws and `rethrows` closures do not mix: the failure is carried out by hand.
    var failure: Errno?
    bytes.withUnsafeBytes { buffer in
      do throws(Errno) { try write(buffer, at: &offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Appends all bytes (O_APPEND), in one call unless the disk takes less.
  func append(_ bytes: [UInt8]) throws(Errno) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(raw, $0.baseAddress, $0.count) }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw Errno(rawValue: errno)
      }
    }
  }

  /// Up to `count` bytes from `offset`; fewer at the end of the file.
  func read(_ count: Int, at offset: Int64 = 0) throws(Errno) -> [UInt8] {
    var failure: Errno?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(
          raw, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset) + off_t(filled))
        if got == 0 { break }
        if got > 0 {
          filled += got
        } else if errno != EINTR {
          failure = Errno(rawValue: errno)
          break
        }
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Blocks of this length are read where a whole file is. Between two of them a cancelled task ends.
  static let blockLength = 1 << 18

  /// What reads or copies gigabytes asks this before each block.
  /// - Throws: ECANCELED, which no call on a file ends in.
  static func checkCancellation() throws(Errno) {
    if Task.isCancelled { throw .canceled }
  }

  /// Whether another file holds the same bytes.
  /// - Throws: errno of reading; ECANCELED when the task was cancelled.
  func hasBytes(of other: borrowing Descriptor) throws(Errno) -> Bool {
    var offset: Int64 = 0
    while true {
      try Self.checkCancellation()
      let (mine, theirs) = (
        try read(Self.blockLength, at: offset), try other.read(Self.blockLength, at: offset)
      )
      if mine != theirs { return false }
      if mine.isEmpty { return true }
      offset += Int64(mine.count)
    }
  }

  func truncate(to length: Int64) throws(Errno) {
    while ftruncate(raw, off_t(length)) != 0 {
      if errno != EINTR { throw Errno(rawValue: errno) }
    }
  }

  /// Makes content and length durable. Blocks.
  func sync() throws(Errno) {
    while fdatasync(raw) != 0 {
      if errno != EINTR { throw Errno(rawValue: errno) }
    }
  }

  func identity() throws(Errno) -> FileIdentity {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
    return FileIdentity(status)
  }

  func standing() throws(Errno) -> StandingFile {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
    return StandingFile(status)
  }

  /// Whether the file is this user's own: a regular file of the effective user, that nobody else can write, under one
  /// name. What is not is never read as dlm's, changed or removed (http.md 44).
  /// - Parameters:
  ///   - closedTo: permissions that others must not have.
  ///   - names: the most names that it may have.
  func isOwn(closedTo: mode_t = 0o022, names: Int = 1) throws(Errno) -> Bool {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
    return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_mode & closedTo == 0
      && Int(status.st_nlink) <= names
  }

  /// Sets the permissions. A file system that keeps none leaves them as they are.
  func setMode(_ mode: mode_t) throws(Errno) {
    guard fchmod(raw, mode) == 0 || errno == EPERM || errno == EOPNOTSUPP else {
      throw Errno(rawValue: errno)
    }
  }

  func mode() throws(Errno) -> mode_t {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
    return status.st_mode & 0o7777
  }

  /// Names that the file has.
  func linkCount() throws(Errno) -> Int {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
    return Int(status.st_nlink)
  }

  /// Takes the lock that says "in use by a living process"; the kernel frees it when the process ends.
  /// - Returns: false if another holder has it. A file system without locks counts as free: there, two
  ///   processes on one file are told apart only by the atomic naming at the end.
  func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }

  /// Waits for the lock. For threads that may block only.
  func waitForLock() {
    while flock(raw, LOCK_EX) != 0 && errno == EINTR {}
  }

  /// Frees the lock. Also said where the descriptor would end anyway: the place where a lock ends should not
  /// depend on how long the compiler keeps a value.
  func unlock() { while flock(raw, LOCK_UN) != 0 && errno == EINTR {} }

  /// Asks for the errors that NFS and quotas report only at close, while keeping the file and its lock.
  func flushAndReport() throws(Errno) {
    let copy = dup(raw)
    guard copy >= 0 else { throw Errno(rawValue: errno) }
    // After EINTR the descriptor is closed all the same on Linux (close(2)).
    guard Glibc.close(copy) == 0 || errno == EINTR else { throw Errno(rawValue: errno) }
  }
}
