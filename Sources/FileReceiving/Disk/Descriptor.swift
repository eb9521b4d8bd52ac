import DownloadModel
package import Glibc
package import SystemPackage

/// An open file that closes itself when its value is dropped, so that no code path can leak it.
package struct Descriptor: ~Copyable, Sendable {
  package let raw: Int32

  init(_ raw: Int32) { self.raw = raw }

  /// - Parameter result: the return value of open(2).
  /// - Throws: errno of open(2); EMFILE if the descriptor is one of the last available (`SpareDescriptors`).
  init(opened result: Int32) throws(Errno) {
    let raw = try Errno.check(result)
    if SpareDescriptors.include(raw) {
      _ = Glibc.close(raw)
      throw .tooManyOpenFiles
    }
    self.init(raw)
  }

  /// Means "not open"; every call on it fails with EBADF.
  package static var closed: Descriptor { Descriptor(-1) }

  package var isOpen: Bool { raw >= 0 }

  deinit {
    // Callers that need the errors of closing call `flushAndReport` first.
    if raw >= 0 { _ = Glibc.close(raw) }
  }

  /// Writes all bytes at `offset`. Advances `offset` by each byte that reached the file, even if the call throws.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: inout Int64) throws(Errno) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let start = UnsafeRawBufferPointer(rebasing: rest)
      let place = off_t(offset)
      let count = try Errno.check(pwrite(raw, start.baseAddress, start.count, place))
      offset += Int64(count)
      rest = rest.dropFirst(count)
    }
  }

  package func write(_ bytes: [UInt8], at offset: Int64 = 0) throws(Errno) {
    var offset = offset
    try bytes.span.bytes.withUnsafeBytes { bytes throws(Errno) in try write(bytes, at: &offset) }
  }

  /// Makes the file at least that long, with space allocated on the disk (posix_fallocate(3)).
  package func makeRoom(_ length: Int) throws(Errno) {
    var result = EINTR
    while result == EINTR { result = posix_fallocate(raw, 0, off_t(length)) }
    guard result == 0 else { throw Errno(rawValue: result) }
  }

  /// Up to `count` bytes from `offset`; fewer at the end of the file.
  package func read(_ count: Int, at offset: Int64 = 0) throws(Errno) -> [UInt8] {
    var failure: Errno?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(Errno) {
        while filled < count {
          let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled..<count])
          let place = off_t(offset) + off_t(filled)
          let got = try Errno.check(pread(raw, rest.baseAddress, rest.count, place))
          if got == 0 { break }
          filled += got
        }
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes
  }

  /// The block length for reading whole files. A cancelled task stops between two blocks.
  static let blockLength = 1 << 18

  /// - Throws: ECANCELED, which no system call on a file returns.
  static func checkCancellation() throws(Errno) { if Task.isCancelled { throw .canceled } }

  func hasBytes(of other: borrowing Descriptor, length: Int64) throws(Errno) -> Bool {
    var offset: Int64 = 0
    while offset < length {
      try Self.checkCancellation()
      let count = Int(min(length - offset, Int64(Self.blockLength)))
      let mine = try read(count, at: offset)
      let theirs = try other.read(count, at: offset)
      if mine.count < count || mine != theirs { return false }
      offset += Int64(count)
    }
    return true
  }

  func truncate(to length: Int64) throws(Errno) { try Errno.check(ftruncate(raw, off_t(length))) }

  /// Makes content and length durable. Blocks.
  func sync() throws(Errno) { try Errno.check(fdatasync(raw)) }

  func status() throws(Errno) -> stat {
    var status = stat()
    try Errno.check(fstat(raw, &status))
    return status
  }

  package func identity() throws(Errno) -> FileIdentity { FileIdentity(try status()) }

  package func standing() throws(Errno) -> StandingFile { StandingFile(try status()) }

  /// Whether it is a regular file of the effective user that no other user can write. dlm never reads, changes or
  /// removes any other file as its own (HTTP rule 44).
  /// - Parameter closedTo: further permissions that other users must not have.
  package func isOwn(closedTo: mode_t = 0, names: Int = 1) throws(Errno) -> Bool {
    let status = try status()
    return Distrust(FileOwnership(status), user: StandingFile.user) == nil && status.st_mode & closedTo == 0
      && Int(status.st_nlink) <= names
  }

  /// Sets the permissions. Does nothing on a file system that stores none.
  func setMode(_ mode: mode_t) throws(Errno) {
    guard fchmod(raw, mode) == 0 || errno == EPERM || errno == EOPNOTSUPP else { throw .last }
  }

  package func linkCount() throws(Errno) -> Int { Int(try status().st_nlink) }

  /// Takes the lock that marks a file as in use, until the process ends; false if it is held already. Succeeds on a
  /// file system without locks: there, only the atomic naming at the end separates two processes.
  package func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }

  /// Frees the lock explicitly, because the compiler decides how long a value lives.
  package func unlock() { while flock(raw, LOCK_UN) != 0 && errno == EINTR {} }

  /// Throws the errors that NFS and quotas report only on close. The file stays open and locked.
  func flushAndReport() throws(Errno) {
    let copy = try Errno.check(fcntl(raw, F_DUPFD_CLOEXEC, 0))
    // On Linux, the descriptor is closed even after EINTR (close(2)).
    guard Glibc.close(copy) == 0 || errno == EINTR else { throw .last }
  }
}

extension Errno {
  package static var last: Errno { Errno(rawValue: errno) }

  /// Makes a system call, and repeats it if a signal interrupts it.
  @discardableResult
  static func check<Result: SignedInteger>(_ call: @autoclosure () -> Result) throws(Errno) -> Result {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != Glibc.EINTR { throw .last }
    }
  }

  /// The file belongs to another user, or others may write it.
  package static let distrusted = Errno.notPermitted

  /// Whether a file cannot be opened because of its kind or owner: it is then not dlm's.
  var isForeign: Bool {
    [.tooManySymbolicLinkLevels, .isDirectory, .permissionDenied, .notPermitted, .noSuchAddressOrDevice].contains(self)
  }
}

/// The identity that shows that a file is the one that was written, and is unchanged since.
package struct FileIdentity: Equatable {
  package var device: Int64
  package var inode: Int64
  package var size: Int64
  /// Last change of the content, in nanoseconds since 1970.
  package var modified: Int64

  package init(device: Int64, inode: Int64, size: Int64, modified: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
  }

  /// - Returns: for anything but a regular file, an identity that differs from that of every regular file.
  package init(_ status: stat) {
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    self.init(
      device: Int64(truncatingIfNeeded: status.st_dev), inode: isRegular ? Int64(truncatingIfNeeded: status.st_ino) : 0,
      size: isRegular ? Int64(status.st_size) : -1,
      modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
  }

  package var isRegularFile: Bool { size >= 0 }

  /// Whether it is the same file, even if its content has changed.
  package func isSameFile(as other: FileIdentity) -> Bool {
    isRegularFile && inode == other.inode && device == other.device
  }
}

package struct StandingFile: Equatable {
  package var identity: FileIdentity
  /// Last change of content, names or permissions (ctime), in nanoseconds since 1970. No program can set it.
  package var changed: Int64
  package var isUsers: Bool

  /// The user that dlm runs as.
  static let user = geteuid()

  init(_ status: stat) {
    identity = FileIdentity(status)
    changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    isUsers = status.st_uid == Self.user
  }

  /// The file at a path, symbolic links not followed; `nil` if it does not exist or cannot be examined.
  package static func of(path: String) -> StandingFile? {
    var status = stat()
    return lstat(path, &status) == 0 ? StandingFile(status) : nil
  }
}

/// The last change of a finished file in any way (ctime), as its row has it. A user who may write the folder can forge
/// inode, length and modification time, but cannot set this time.
package struct ChangeTime: Equatable {
  /// Nanoseconds since 1970.
  package let number: Int64

  /// - Parameter number: any stored value.
  package init(number: Int64) { self.number = number }

  package init(of file: StandingFile) { number = max(0, file.changed) }

  package func isThat(of file: StandingFile) -> Bool { file.changed == number }
}

/// The owner of a file or a folder, and its permissions.
package struct FileOwnership {
  package var owner: UInt32
  /// Kind and permissions (stat(2), st_mode).
  package var mode: UInt32

  fileprivate static let regular: UInt32 = 0o100000
  fileprivate static let pipe: UInt32 = 0o010000
  fileprivate var kind: UInt32 { mode & 0o170000 }
  fileprivate var othersWrite: Bool { mode & 0o022 != 0 }
}

extension FileOwnership {
  package init(_ status: stat) { self.init(owner: status.st_uid, mode: status.st_mode) }
}

/// Why a file is not trusted: other users could have written its content (HTTP rules 44 and 45).
///
/// | | owner | others may write | its folder |
/// |---|---|---|---|
/// | index, claims, history, secret, store | the user | no | the user's, closed to writers |
/// | settings of the user | the user or root | no | the same, or root's |
/// | what the user names, settings of the working folder | the user, or root | no | any |
///
/// A sticky folder (1777) counts as one that others may write, because everyone can add files to it. For dlm's own
/// files, root is another user unless dlm runs as root.
package enum Distrust {
  case notRegular, otherUser, othersWrite

  /// - Parameter file: of the open file, so that the file that is judged is the one that is read.
  /// - Parameter trustsRoot: whether a file of root is trusted too.
  /// - Parameter orPipe: whether other kinds of files are accepted. A named pipe is judged as a file is.
  package init?(_ file: FileOwnership, user: UInt32, trustsRoot: Bool = false, orPipe: Bool = false) {
    if file.kind != FileOwnership.regular, !orPipe {
      self = .notRegular
    } else if [FileOwnership.regular, FileOwnership.pipe].contains(file.kind) {
      self.init(writersOf: file, user: user, trustsRoot: trustsRoot)
    } else {
      return nil
    }
  }

  /// The same for a folder; `notRegular` for anything else.
  package init?(folder: FileOwnership, user: UInt32, trustsRoot: Bool = false) {
    guard folder.kind == 0o040000 else {
      self = .notRegular
      return
    }
    self.init(writersOf: folder, user: user, trustsRoot: trustsRoot)
  }

  private init?(writersOf file: FileOwnership, user: UInt32, trustsRoot: Bool) {
    if file.owner != user, !(trustsRoot && file.owner == 0) {
      self = .otherUser
    } else if file.othersWrite {
      self = .othersWrite
    } else {
      return nil
    }
  }
}
