import Glibc
import SystemPackage

/// A folder that was opened once: every call on a name is relative to it, so that renaming the folder or a
/// path above it in the meantime cannot lead a file elsewhere.
///
/// It is the last gate before the kernel: a method that takes a name takes nothing else. A text that would lead out of
/// the folder, or to it, ends in EINVAL, whatever the rooms before it made of an address or a header.
final class Folder: Sendable {
  let path: String
  private let descriptor: Descriptor

  /// Opens the folder, and makes it and those above it where missing.
  init(_ path: FilePath, mode: mode_t) throws(Errno) {
    self.path = path.string
    if let opened = try Self.open(path) {
      descriptor = opened
      return
    }
    try Self.make(path, mode: mode)
    guard let opened = try Self.open(path) else { throw .noSuchFileOrDirectory }
    descriptor = opened
  }

  private static func open(_ path: FilePath) throws(Errno) -> Descriptor? {
    let raw = Glibc.open(path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if raw >= 0 { return Descriptor(raw) }
    guard errno == ENOENT else { throw Errno(rawValue: errno) }
    return nil
  }

  private static func make(_ path: FilePath, mode: mode_t) throws(Errno) {
    if mkdir(path.string, mode) == 0 || errno == EEXIST { return }
    let above = path.removingLastComponent()
    guard errno == ENOENT, !above.isEmpty, above != path else { throw Errno(rawValue: errno) }
    try make(above, mode: mode)
    guard mkdir(path.string, mode) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
  }

  /// The path without links and dots: what the index knows the folder by.
  func canonicalPath() throws(Errno) -> String {
    guard let resolved = realpath("/proc/self/fd/\(descriptor.raw)", nil) ?? realpath(path, nil) else {
      throw Errno(rawValue: errno)
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Closes a folder of dlm's own to others, if earlier versions, or a umask, left it open. What is in it is closed too, so
  /// that a folder that cannot be gives away names only.
  func makePrivate() {
    var status = stat()
    guard fstat(descriptor.raw, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 != 0 else {
      return
    }
    _ = fchmod(descriptor.raw, 0o700)
  }

  /// Has a file of dlm's own be readable by its user alone, and makes it where it is missing, so that whoever opens it by
  /// its path finds it so.
  /// - Throws: Errno; `.tooManySymbolicLinkLevels` where a link stands.
  func makePrivate(_ name: String, creating: Bool) throws(Errno) {
    let file: Descriptor
    do throws(Errno) {
      file = try open(name, O_RDWR | O_NONBLOCK | (creating ? O_CREAT : 0), mode: 0o600)
    } catch .noSuchFileOrDirectory where !creating { return }
    var status = stat()
    guard fstat(file.raw, &status) == 0 else { throw Errno(rawValue: errno) }
    if status.st_uid == geteuid(), status.st_mode & 0o077 != 0, fchmod(file.raw, 0o600) != 0 {
      throw Errno(rawValue: errno)
    }
  }

  private static func check(_ name: String) throws(Errno) {
    guard FileNaming.isName(name) else { throw .invalidArgument }
  }

  /// Opens a name, symbolic links not followed.
  func open(_ name: String, _ flags: Int32, mode: mode_t = 0o666) throws(Errno) -> Descriptor {
    try Self.check(name)
    while true {
      let raw = openat(descriptor.raw, name, flags | O_NOFOLLOW | O_CLOEXEC, mode)
      if raw >= 0 { return Descriptor(raw) }
      if errno != EINTR { throw Errno(rawValue: errno) }
    }
  }

  /// What stands under a name, symbolic links not followed; nil if nothing does.
  func identity(of name: String) throws(Errno) -> FileIdentity? {
    try Self.check(name)
    var status = stat()
    if fstatat(descriptor.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return FileIdentity(status) }
    guard errno == ENOENT else { throw Errno(rawValue: errno) }
    return nil
  }

  /// The same, with what tells how long it has stood there.
  func standing(_ name: String) throws(Errno) -> StandingFile? {
    var status = stat()
    if fstatat(descriptor.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return StandingFile(status) }
    guard errno == ENOENT else { throw Errno(rawValue: errno) }
    return nil
  }

  /// Bytes that this process may still write here; nil where the file system does not say (some FUSE).
  func freeBytes() -> Int64? {
    var status = statvfs()
    guard fstatvfs(descriptor.raw, &status) == 0, status.f_blocks > 0 else { return nil }
    return Int64(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).0)
  }

  /// Makes names durable: they are on the disk when this returns. Blocks.
  func sync() throws(Errno) {
    while fsync(descriptor.raw) != 0 {
      if errno != EINTR { throw Errno(rawValue: errno) }
    }
  }

  func remove(_ name: String) throws(Errno) {
    try Self.check(name)
    guard unlinkat(descriptor.raw, name, 0) == 0 || errno == ENOENT else { throw Errno(rawValue: errno) }
  }

  /// Renames; what stood under `new` is gone in the same instant.
  func rename(_ old: String, replacing new: String) throws(Errno) {
    try Self.check(old)
    try Self.check(new)
    guard renameat(descriptor.raw, old, descriptor.raw, new) == 0 else { throw Errno(rawValue: errno) }
  }

  /// Renames if nothing stands under `new`; EEXIST otherwise.
  ///
  /// By a link, which never replaces. Killed in the middle, it leaves the file under both names. (Swift's Glibc
  /// module does not show renameat2, and NFS would not know its flag.)
  func rename(_ old: String, toFree new: String) throws(Errno) {
    try Self.check(old)
    try Self.check(new)
    if linkat(descriptor.raw, old, descriptor.raw, new, 0) == 0 { return try remove(old) }
    guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { throw Errno(rawValue: errno) }
    // FAT and its kin have no links: a look before the leap is all that is left.
    guard try identity(of: new) == nil else { throw .fileExists }
    try rename(old, replacing: new)
  }

  /// Names in the folder, in no order, without `.` and `..`.
  func names() throws(Errno) -> [String] { try names(atMost: .max) ?? [] }

  /// The same, or nil if there are more than so many.
  func names(atMost limit: Int) throws(Errno) -> [String]? {
    // An own descriptor: fdopendir takes it over, and the reading position with it.
    let raw = openat(descriptor.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    guard let stream = fdopendir(raw) else { throw Errno(rawValue: errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard FileNaming.isName(name) else { continue }
      if names.count == limit { return nil }
      names.append(name)
    }
    return names
  }

  /// Removes a file that dlm left under a name that nobody else could give, if it is the user's own.
  /// - Returns: false if something else stands there, which stays.
  func removeOwn(_ name: String) throws(Errno) -> Bool {
    do throws(Errno) {
      guard try open(name, O_RDONLY | O_NONBLOCK).isOwn() else { return false }
      try remove(name)
      return true
    } catch {
      switch error {
      case .noSuchFileOrDirectory: return true
      case .tooManySymbolicLinkLevels, .permissionDenied, .noSuchAddressOrDevice: return false
      default: throw error
      }
    }
  }

  /// The permissions of a file that is made here now: what the process's mask, or the folder's own rules, leave of 0666.
  func modeOfNewFiles() -> mode_t {
    if let file = try? openUnnamed(), let mode = try? file.mode() { return mode }
    return 0o666 & ~Self.creationMask
  }

  /// What umask(2) would say, if asking did not set it for every thread; closed to others where the kernel does not say.
  private static let creationMask: mode_t = {
    let raw = Glibc.open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard raw >= 0, let status = try? Descriptor(raw).read(4096) else { return 0o077 }
    let line = status.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "Umask:".utf8) }
    let digits = line.map { String(decoding: $0.filter { (0x30...0x37).contains($0) }, as: UTF8.self) } ?? ""
    return mode_t(digits, radix: 8) ?? 0o077
  }()

  // MARK: Files without a name

  /// How a file without a name gets one here; nil where the file system (NFS, FAT, some FUSE) or the sandbox
  /// cannot do it. Nothing is left behind by the question.
  func routeForUnnamedFiles() -> NamingRoute? {
    guard let file = try? openUnnamed() else { return nil }
    // "." always exists: EEXIST says that all but that would have gone well.
    for route in [NamingRoute.descriptor, .procfs] {
      do throws(Errno) { try linkUnchecked(file, as: ".", route) } catch .fileExists { return route } catch {
        continue
      }
    }
    return nil
  }

  /// A new file without a name (O_TMPFILE): killed at any moment, nothing of it stays.
  /// - Parameter mode: its permissions, of which the process's mask is taken away.
  func openUnnamed(mode: mode_t = 0o666) throws(Errno) -> Descriptor {
    // Linux's O_TMPFILE is the bit below and O_DIRECTORY; the Glibc module does not show it.
    let raw = openat(descriptor.raw, ".", 0o20000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, mode)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    return Descriptor(raw)
  }

  /// Gives an unnamed file a name; EEXIST if something stands there.
  func link(_ file: borrowing Descriptor, as name: String, _ route: NamingRoute) throws(Errno) {
    try Self.check(name)
    try linkUnchecked(file, as: name, route)
  }

  private func linkUnchecked(
    _ file: borrowing Descriptor, as name: String, _ route: NamingRoute
  ) throws(Errno) {
    let result =
      switch route {
      // AT_EMPTY_PATH, which Swift's Glibc module does not show.
      case .descriptor: linkat(file.raw, "", descriptor.raw, name, 0x1000)
      case .procfs:
        linkat(AT_FDCWD, "/proc/self/fd/\(file.raw)", descriptor.raw, name, AT_SYMLINK_FOLLOW)
      }
    guard result == 0 else { throw Errno(rawValue: errno) }
  }
}
