import DownloadModel
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
    // Nothing depends on the result of this close: callers that need the errors of closing call `flushAndReport` first.
    if raw >= 0 { _ = Glibc.close(raw) }
  }

  /// Writes all bytes at `offset`, which advances by every byte that reached the file, also when the call throws.
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
    // `withUnsafeBytes` does not carry typed throws, so the failure is carried out by hand.
    var failure: Errno?
    bytes.withUnsafeBytes { buffer in
      do throws(Errno) { try write(buffer, at: &offset) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Makes the file at least so long, with room for it on the disk (posix_fallocate(3)).
  func makeRoom(_ length: Int) throws(Errno) {
    var result = posix_fallocate(raw, 0, off_t(length))
    while result == EINTR { result = posix_fallocate(raw, 0, off_t(length)) }
    guard result == 0 else { throw Errno(rawValue: result) }
  }

  /// Up to `count` bytes from `offset`; fewer at the end of the file.
  func read(_ count: Int, at offset: Int64 = 0) throws(Errno) -> [UInt8] {
    var failure: Errno?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(raw, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset) + off_t(filled))
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

  /// Whole files are read in blocks of this length. Between two blocks a cancelled task ends.
  static let blockLength = 1 << 18

  /// Called before each block by code that reads or copies whole files.
  /// - Throws: ECANCELED, which no system call on a file gives.
  static func checkCancellation() throws(Errno) {
    if Task.isCancelled { throw .canceled }
  }

  /// Whether another file of the same length holds the same bytes.
  /// - Throws: errno of reading; ECANCELED when the task was cancelled.
  func hasBytes(of other: borrowing Descriptor, length: Int64) throws(Errno) -> Bool {
    var offset: Int64 = 0
    while offset < length {
      try Self.checkCancellation()
      let count = Int(min(length - offset, Int64(Self.blockLength)))
      let (mine, theirs) = (try read(count, at: offset), try other.read(count, at: offset))
      if mine.count < count || mine != theirs { return false }
      offset += Int64(count)
    }
    return true
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

  func status() throws(Errno) -> stat {
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw Errno(rawValue: errno) }
    return status
  }

  func identity() throws(Errno) -> FileIdentity {
    FileIdentity(try status())
  }

  func standing() throws(Errno) -> StandingFile {
    StandingFile(try status())
  }

  /// Whether the file is this user's own: a regular file of the effective user, with one name, that no other user can
  /// write. dlm never reads, changes or removes any other file as its own (HTTP rule 44).
  /// - Parameters:
  ///   - closedTo: further permissions that other users must not have.
  ///   - names: the most names that it may have.
  func isOwn(closedTo: mode_t = 0, names: Int = 1) throws(Errno) -> Bool {
    let status = try status()
    return Distrust(FileOwnership(status), user: StandingFile.user) == nil && status.st_mode & closedTo == 0
      && Int(status.st_nlink) <= names
  }

  /// Sets the permissions. A file system that stores none leaves them as they are.
  func setMode(_ mode: mode_t) throws(Errno) {
    guard fchmod(raw, mode) == 0 || errno == EPERM || errno == EOPNOTSUPP else { throw Errno(rawValue: errno) }
  }

  func mode() throws(Errno) -> mode_t {
    try status().st_mode & 0o7777
  }

  /// How many names the file has.
  func linkCount() throws(Errno) -> Int {
    Int(try status().st_nlink)
  }

  /// Takes the lock that marks a file as in use by a living process; the kernel frees it when the process ends.
  /// - Returns: false if it is held already. A file system without locks counts as free: there, only the atomic naming
  ///   at the end keeps two processes on one file apart.
  func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }

  /// Frees the lock. Also called where the descriptor would be closed anyway, because the end of a lock should not
  /// depend on how long the compiler keeps a value.
  func unlock() { while flock(raw, LOCK_UN) != 0 && errno == EINTR {} }

  /// Throws the errors that NFS and quotas report only at close, while the file stays open and locked.
  func flushAndReport() throws(Errno) {
    let copy = dup(raw)
    guard copy >= 0 else { throw Errno(rawValue: errno) }
    // After EINTR the descriptor is closed all the same on Linux (close(2)).
    guard Glibc.close(copy) == 0 || errno == EINTR else { throw Errno(rawValue: errno) }
  }
}

extension Errno {
  /// What stands there is another user's, or others may write it.
  static let distrusted = Errno.notPermitted

  /// Whether a file cannot be opened because of its kind or owner: then it is nothing of dlm's.
  var isForeign: Bool {
    [
      .tooManySymbolicLinkLevels, .isDirectory, .permissionDenied, .notPermitted, .noSuchAddressOrDevice,
    ].contains(self)
  }
}

/// The identity by which a file is recognised as the one that was written, and untouched since.
struct FileIdentity: Sendable, Equatable {
  var device: Int64
  var inode: Int64
  /// Bytes.
  var size: Int64
  /// Last change of the content, in nanoseconds since 1970.
  var modified: Int64
}

/// A file as it is under its name.
struct StandingFile: Sendable, Equatable {
  var identity: FileIdentity
  /// Last change of content, names or permissions (ctime), in nanoseconds since 1970. Naming a file counts, and no
  /// program can set it: a file that was named in this run is younger than the run.
  var changed: Int64
  /// Whether it belongs to the user that dlm runs as.
  var isUsers: Bool

  /// The user that dlm runs as.
  static let user = geteuid()

  init(_ status: stat) {
    identity = FileIdentity(status)
    changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    isUsers = status.st_uid == Self.user
  }

  /// The file at a path, symbolic links not followed; nil if there is none or it cannot be examined.
  static func of(path: String) -> StandingFile? {
    var status = stat()
    return lstat(path, &status) == 0 ? StandingFile(status) : nil
  }
}

/// When a finished file was last changed in any way (ctime), as its row has it. Inode, length and time of content can
/// be made again by whoever may write the folder; this time nobody can set.
struct ChangeTime: Sendable, Equatable {
  /// Nanoseconds since 1970; negative for `beforeNaming`.
  let number: Int64

  /// - Parameter number: as read; of any value.
  init(number: Int64) { self.number = max(number, -.max) }

  init(of file: StandingFile) { number = max(0, file.changed) }

  /// Of a file that is about to get its name, which changes this time: all that can be told of a file whose process was
  /// killed before it looked again. The time is known up to two seconds.
  static func beforeNaming(_ changed: Int64) -> ChangeTime { ChangeTime(number: -max(1, changed)) }

  /// Whether it was read from the file when that had its name.
  var isExact: Bool { number >= 0 }

  func isThat(of file: StandingFile) -> Bool {
    if isExact { return file.changed == number }
    return file.changed >= -number && file.changed &+ number <= 2_000_000_000
  }
}

extension FileIdentity {
  /// - Returns: for anything but a regular file, an identity that equals no regular file's.
  init(_ status: stat) {
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    self.init(
      device: Int64(truncatingIfNeeded: status.st_dev), inode: isRegular ? Int64(truncatingIfNeeded: status.st_ino) : 0,
      size: isRegular ? Int64(status.st_size) : -1,
      modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
  }

  var isRegularFile: Bool { size >= 0 }

  /// Whether it is the same file, whatever happened to its content.
  func isSameFile(as other: FileIdentity) -> Bool {
    isRegularFile && inode == other.inode && device == other.device
  }

  /// The file at a path, symbolic links not followed; nil if there is none or it cannot be examined.
  static func of(path: String) -> FileIdentity? { StandingFile.of(path: path)?.identity }

  /// What the file at a path takes on the disk, as du(1) counts, if it has no other name.
  static func allocatedBytes(path: String) -> Int64 {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_nlink == 1 else { return 0 }
    return Int64(status.st_blocks) * 512
  }
}
