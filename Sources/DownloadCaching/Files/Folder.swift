import Glibc
import SystemPackage

/// A folder that was opened once: every call on a name is relative to it, so that renaming the folder or a
/// path above it in the meantime cannot lead a file elsewhere.
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

  /// Opens a name, symbolic links not followed.
  func open(_ name: String, _ flags: Int32, mode: mode_t = 0o666) throws(Errno) -> Descriptor {
    while true {
      let raw = openat(descriptor.raw, name, flags | O_NOFOLLOW | O_CLOEXEC, mode)
      if raw >= 0 { return Descriptor(raw) }
      if errno != EINTR { throw Errno(rawValue: errno) }
    }
  }

  /// What stands under a name, symbolic links not followed; nil if nothing does.
  func identity(of name: String) throws(Errno) -> FileIdentity? {
    var status = stat()
    if fstatat(descriptor.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return FileIdentity(status) }
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
    guard unlinkat(descriptor.raw, name, 0) == 0 || errno == ENOENT else { throw Errno(rawValue: errno) }
  }

  /// Renames; what stood under `new` is gone in the same instant.
  func rename(_ old: String, replacing new: String) throws(Errno) {
    guard renameat(descriptor.raw, old, descriptor.raw, new) == 0 else { throw Errno(rawValue: errno) }
  }

  /// Renames if nothing stands under `new`; EEXIST otherwise.
  ///
  /// By a link, which never replaces. Killed in the middle, it leaves the file under both names. (Swift's Glibc
  /// module does not show renameat2, and NFS would not know its flag.)
  func rename(_ old: String, toFree new: String) throws(Errno) {
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
      if name == "." || name == ".." { continue }
      if names.count == limit { return nil }
      names.append(name)
    }
    return names
  }

  // MARK: Files without a name

  /// How a file without a name gets one here; nil where the file system (NFS, FAT, some FUSE) or the sandbox
  /// cannot do it. Nothing is left behind by the question.
  func routeForUnnamedFiles() -> NamingRoute? {
    guard let file = try? openUnnamed() else { return nil }
    // "." always exists: EEXIST says that all but that would have gone well.
    for route in [NamingRoute.descriptor, .procfs] {
      do throws(Errno) { try link(file, as: ".", route) } catch .fileExists { return route } catch {
        continue
      }
    }
    return nil
  }

  /// A new file without a name (O_TMPFILE): killed at any moment, nothing of it stays.
  func openUnnamed() throws(Errno) -> Descriptor {
    // Linux's O_TMPFILE is the bit below and O_DIRECTORY; the Glibc module does not show it.
    let raw = openat(descriptor.raw, ".", 0o20000000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o666)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    return Descriptor(raw)
  }

  /// Gives an unnamed file a name; EEXIST if something stands there.
  func link(_ file: borrowing Descriptor, as name: String, _ route: NamingRoute) throws(Errno) {
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
