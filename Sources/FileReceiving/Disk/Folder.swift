import DownloadModel
package import Glibc
package import SystemPackage

/// A folder that was opened once. Calls use names relative to it, so that a renamed path above leads no file elsewhere.
/// A text that is not a name, and may lead out of the folder, throws EINVAL.
package final class Folder: Sendable {
  /// The two ways to name an unnamed file on Linux (open(2), O_TMPFILE).
  package enum NamingRoute {
    /// By its descriptor: for every process since Linux 6.10, before that with CAP_DAC_READ_SEARCH.
    case descriptor
    /// By its link in /proc: for every process, if /proc is mounted.
    case procfs
  }

  package let path: String
  private let descriptor: Descriptor

  /// Opens the folder. Creates it and the folders above it if they are missing.
  convenience init(_ path: FilePath, mode: mode_t) throws(Errno) {
    do { try self.init(standing: path) } catch .noSuchFileOrDirectory {
      try Self.make(path, mode: mode)
      try self.init(standing: path)
    }
  }

  /// - Throws: `.noSuchFileOrDirectory` if the folder is missing.
  package convenience init(standing path: FilePath) throws(Errno) {
    self.init(
      path: path.string, try Descriptor(opened: Glibc.open(path.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC)))
  }

  private init(path: String, _ descriptor: consuming Descriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  private static func make(_ path: FilePath, mode: mode_t) throws(Errno) {
    if mkdir(path.string, mode) == 0 || errno == EEXIST { return }
    let above = path.removingLastComponent()
    guard errno == ENOENT, !above.isEmpty, above != path else { throw .last }
    try make(above, mode: mode)
    guard mkdir(path.string, mode) == 0 || errno == EEXIST else { throw .last }
  }

  /// Opens a folder in this one. Creates it if it is missing.
  /// - Throws: `.notDirectory` for anything else, including a link to a folder.
  func below(_ name: String) throws(Errno) -> Folder {
    do { return try opened(name) } catch .noSuchFileOrDirectory {
      guard mkdirat(descriptor.raw, name, 0o777) == 0 || errno == EEXIST else { throw .last }
      return try opened(name)
    }
  }

  /// Opens an existing folder in this one.
  package func opened(_ name: String) throws(Errno) -> Folder {
    Folder(path: "\(path)/\(name)", try open(name, O_RDONLY | O_DIRECTORY))
  }

  /// Creates a folder in this one that is private to this user.
  /// - Throws: `.distrusted` if another folder took its place before it was opened.
  package func makePrivateFolder(_ name: String) throws(Errno) -> Folder {
    try Self.check(name)
    try Errno.check(mkdirat(descriptor.raw, name, 0o700))
    let made = try opened(name)
    guard try made.descriptor.status().st_uid == StandingFile.user, try made.names().isEmpty else { throw .distrusted }
    return made
  }

  /// Whether it is this user's, and closed to all others.
  package func isPrivate() throws(Errno) -> Bool {
    let status = try descriptor.status()
    return status.st_uid == StandingFile.user && status.st_mode & 0o077 == 0
  }

  /// Locks the folder as in use until it is closed.
  /// - Returns: false if another process holds the lock, or the file system does not support locks.
  package func lock(waits: Bool) -> Bool {
    while flock(descriptor.raw, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }

  /// A path to this very folder, even if other users replace its name. Without /proc, the path by which it was opened.
  package var heldPath: FilePath {
    let held = "/proc/self/fd/\(descriptor.raw)"
    return FilePath(access(held, F_OK) == 0 ? held : path)
  }

  /// The same, under the next number if a file has the name.
  func below(numbering name: String) throws(Errno) -> Folder {
    var number = 0
    while true {
      let candidate = FileNaming.alternative(name, number)
      do { return try below(candidate) } catch {
        guard error == .notDirectory, try standing(candidate)?.identity.isRegularFile == true else { throw error }
      }
      number += 1
    }
  }

  /// The path without links and dots, as the index stores it.
  package func canonicalPath() throws(Errno) -> String {
    guard let resolved = realpath(heldPath.string, nil) ?? realpath(path, nil) else { throw .last }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Opens a folder of dlm's own. Creates it if it is missing.
  /// - Throws: `.distrusted` if others own it or may write it (`Distrust`).
  package convenience init(own path: FilePath) throws(Errno) {
    try self.init(path, mode: 0o700)
    let status = try descriptor.status()
    guard Distrust(folder: FileOwnership(status), user: StandingFile.user) == nil else { throw .distrusted }
    // A umask left it open to readers. If it cannot be closed, it discloses only the names of its private files.
    if status.st_mode & 0o077 != 0 { _ = fchmod(descriptor.raw, 0o700) }
  }

  /// Makes a file of dlm's own, which is opened by its path later, readable by its user alone.
  /// - Throws: `.tooManySymbolicLinkLevels` if the name is a link, `.distrusted` if others own the file or may write
  ///   it.
  package func makePrivate(_ name: String, creating: Bool) throws(Errno) {
    let file: Descriptor
    do {
      file = try open(name, O_RDWR | O_NONBLOCK | (creating ? O_CREAT : 0), mode: 0o600)
    } catch .noSuchFileOrDirectory where !creating { return }
    let status = try file.status()
    guard Distrust(FileOwnership(status), user: StandingFile.user) == nil else { throw .distrusted }
    if status.st_mode & 0o077 != 0, fchmod(file.raw, 0o600) != 0 { throw .last }
  }

  /// The file under a name that only a file of dlm's own should have.
  enum Standing: ~Copyable {
    case nothing
    /// Another user's file, or not a regular file.
    case foreign
    case own(Descriptor)
  }

  func own(_ name: String, _ flags: Int32, names: Int = 1) throws(Errno) -> Standing {
    do {
      let file = try open(name, flags | O_NONBLOCK)
      return try file.isOwn(names: names) ? .own(file) : .foreign
    } catch {
      if error == .noSuchFileOrDirectory { return .nothing }
      if error.isForeign { return .foreign }
      throw error
    }
  }

  /// Opens a file of dlm's own; `nil` if the name has none.
  package func openOwn(_ name: String, _ flags: Int32 = O_RDONLY, names: Int = 1) throws(Errno) -> Descriptor? {
    switch try own(name, flags, names: names) {
    case .own(let file): return file
    default: return nil
    }
  }

  private static func check(_ name: String) throws(Errno) {
    guard FileNaming.isName(name) else { throw .invalidArgument }
  }

  /// Opens a name, symbolic links not followed.
  package func open(_ name: String, _ flags: Int32, mode: mode_t = 0o666) throws(Errno) -> Descriptor {
    try Self.check(name)
    return try openUnchecked(name, flags | O_NOFOLLOW, mode)
  }

  private func openUnchecked(_ name: String, _ flags: Int32, _ mode: mode_t = 0) throws(Errno) -> Descriptor {
    let result = openat(descriptor.raw, name, flags | O_CLOEXEC, mode)
    do throws(Errno) { return try Descriptor(opened: result) } catch {
      // The file was created for a descriptor that may not be used.
      if result >= 0, flags & O_EXCL != 0, flags & O_CREAT != 0 { _ = unlinkat(descriptor.raw, name, 0) }
      throw error
    }
  }

  private func status(of name: String) throws(Errno) -> stat? {
    try Self.check(name)
    var status = stat()
    do {
      try Errno.check(fstatat(descriptor.raw, name, &status, AT_SYMLINK_NOFOLLOW))
      return status
    } catch .noSuchFileOrDirectory { return nil }
  }

  /// The file under a name, symbolic links not followed; `nil` if the name is free.
  package func standing(_ name: String) throws(Errno) -> StandingFile? { try status(of: name).map(StandingFile.init) }

  /// Whether a name currently belongs to an open file.
  package func has(_ file: borrowing Descriptor, as name: String) throws(Errno) -> Bool {
    try standing(name)?.identity.isSameFile(as: file.identity()) == true
  }

  /// Bytes on the disk, as du(1) counts them, of the file or folder under a name. A folder includes its content.
  /// - Parameter ifRemoved: true to count only the bytes that its removal would free: none for a file with further
  ///   names.
  package func allocatedBytes(of name: String, ifRemoved: Bool = false) throws(Errno) -> Int64 {
    guard let status = try status(of: name) else { return 0 }
    if status.st_mode & S_IFMT != S_IFDIR {
      return ifRemoved && status.st_nlink > 1 ? 0 : Int64(status.st_blocks) * 512
    }
    do { return try opened(name).allocatedBytes() } catch .noSuchFileOrDirectory { return 0 }
  }

  package func allocatedBytes() throws(Errno) -> Int64 {
    var bytes = Int64(try descriptor.status().st_blocks) * 512
    for name in try names() { bytes += try allocatedBytes(of: name) }
    return bytes
  }

  /// Free bytes for this process; `nil` if the file system does not report them (some FUSE).
  package func freeBytes() -> Int64? { bytes(\.f_bavail) }

  /// Size of the file system in bytes; `nil` if it does not report it.
  package func diskBytes() -> Int64? { bytes(\.f_blocks) }

  private func bytes(_ blocks: KeyPath<statvfs, fsblkcnt_t>) -> Int64? {
    var status = statvfs()
    guard fstatvfs(descriptor.raw, &status) == 0, status.f_blocks > 0 else { return nil }
    return Int64(clamping: status[keyPath: blocks].multipliedReportingOverflow(by: status.f_frsize).0)
  }

  /// Makes names durable. Blocks.
  func sync() throws(Errno) { try Errno.check(fsync(descriptor.raw)) }

  package func remove(_ name: String) throws(Errno) {
    try Self.check(name)
    do { try Errno.check(unlinkat(descriptor.raw, name, 0)) } catch .noSuchFileOrDirectory {}
  }

  /// Removes a file, or a folder with its content. Every step goes through a descriptor, so that no link of another
  /// user leads it elsewhere (HTTP rule 53).
  package func removeWhole(_ name: String) throws(Errno) {
    do { try remove(name) } catch .isDirectory {
      let inside = try opened(name)
      for name in try inside.names() { try inside.removeWhole(name) }
      guard try remove(name, of: inside) else { throw .distrusted }
    }
  }

  /// Removes an empty folder.
  /// - Returns: false if the name belongs to another file or folder by now, which stays.
  package func remove(_ name: String, of inside: Folder) throws(Errno) -> Bool {
    let own = try inside.descriptor.status()
    guard let found = try status(of: name), found.st_ino == own.st_ino, found.st_dev == own.st_dev else { return false }
    try Errno.check(unlinkat(descriptor.raw, name, AT_REMOVEDIR))
    return true
  }

  /// Renames, and replaces a file under `new` atomically.
  package func rename(_ old: String, replacing new: String) throws(Errno) { try move(old, to: self, replacing: new) }

  /// Renames if `new` is free; throws EEXIST otherwise. Links first, and then removes the old name: if killed in
  /// between, dlm leaves both. (Swift's Glibc module does not export renameat2, and NFS does not support its flag.)
  package func rename(_ old: String, toFree new: String) throws(Errno) {
    try Self.check(old)
    try Self.check(new)
    if linkat(descriptor.raw, old, descriptor.raw, new, 0) == 0 { return try remove(old) }
    guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { throw .last }
    // FAT and similar file systems have no links; there, only a check before the rename is possible.
    guard try standing(new) == nil else { throw .fileExists }
    try rename(old, replacing: new)
  }

  /// Moves a file into another folder of the same disk, and replaces a file under `new` atomically.
  package func move(_ old: String, to other: Folder, replacing new: String) throws(Errno) {
    try Self.check(old)
    try Self.check(new)
    try Errno.check(renameat(descriptor.raw, old, other.descriptor.raw, new))
  }

  /// Gives a file elsewhere on the same disk a further name here; throws EEXIST if the name is taken. Follows no links.
  package func link(path: String, as name: String) throws(Errno) {
    try Self.check(name)
    try Errno.check(linkat(AT_FDCWD, path, descriptor.raw, name, 0))
  }

  /// Names in the folder, unsorted, without `.` and `..`.
  package func names() throws(Errno) -> [String] { try names(atMost: .max) ?? [] }

  /// The same; `nil` if there are more than `limit`.
  func names(atMost limit: Int) throws(Errno) -> [String]? {
    // A descriptor of its own, because fdopendir takes it over together with its read position.
    let raw = try Errno.check(openat(descriptor.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0))
    guard let stream = fdopendir(raw) else { throw .last }
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

  /// Removes a file under a name that only this user's dlm can compute, if the user owns the file.
  /// - Returns: false if another file has the name, which stays.
  package func removeOwn(_ name: String) throws(Errno) -> Bool {
    switch try own(name, O_RDONLY) {
    case .nothing: return true
    case .foreign: return false
    case .own:
      try remove(name)
      return true
    }
  }

  /// The permissions of a new file here: 0666 without the bits that the process's mask or the folder's own rules
  /// forbid.
  func modeOfNewFiles() -> mode_t {
    (try? openUnnamed().status()).map { $0.st_mode & 0o7777 } ?? 0o666 & ~Self.creationMask
  }

  /// The umask, read from /proc because umask(2) would change it for every thread. Closed to other users if the kernel
  /// does not report it.
  private static let creationMask: mode_t = {
    let raw = Glibc.open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard raw >= 0, let status = try? Descriptor(raw).read(4096) else { return 0o077 }
    let line = status.split(separator: .newline).first { $0.starts(with: "Umask:".utf8) }
    let digits = line.map { String(decoding: $0.filter { (0x30...0x37).contains($0) }, as: UTF8.self) } ?? ""
    return mode_t(digits, radix: 8) ?? 0o077
  }()

  // MARK: Files without a name

  /// Creates a complete and locked file of dlm's own. It gets its name last, so that a kill leaves no file if the file
  /// system supports unnamed files.
  /// - Throws: `.fileExists` if the name is taken.
  package func make(_ name: String, _ bytes: [UInt8]) throws(Errno) -> Descriptor {
    let route = routeForUnnamedFiles()
    let draft = "\(name).\(UInt64.random(in: .min ... .max))"
    do throws(Errno) {
      let file =
        if route == nil {
          try open(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        } else {
          try openUnnamed(mode: 0o600)
        }
      guard file.lock() else { throw .wouldBlock }
      try file.write(bytes)
      try file.sync()
      if let route { try link(file, as: name, route) } else { try rename(draft, toFree: name) }
      return file
    } catch {
      if route == nil { try remove(draft) }
      throw error
    }
  }

  /// How an unnamed file gets a name here; `nil` if the file system (NFS, FAT, some FUSE) or the sandbox does not
  /// support it. The test leaves no file behind.
  package func routeForUnnamedFiles() -> NamingRoute? {
    guard let file = try? openUnnamed() else { return nil }
    return [.descriptor, .procfs].first { route in
      // "." always exists, so EEXIST shows that everything else would have worked.
      do throws(Errno) { try linkUnchecked(file, as: ".", route) } catch { return error == .fileExists }
      return false
    }
  }

  /// A new file without a name (O_TMPFILE): a kill leaves nothing of it.
  package func openUnnamed(mode: mode_t = 0o666) throws(Errno) -> Descriptor {
    // Linux's O_TMPFILE is this bit with O_DIRECTORY; the Glibc module does not export it.
    try openUnchecked(".", 0o20000000 | O_DIRECTORY | O_RDWR, mode)
  }

  /// Gives an unnamed file a name; throws EEXIST if the name is taken.
  package func link(_ file: borrowing Descriptor, as name: String, _ route: NamingRoute) throws(Errno) {
    try Self.check(name)
    try linkUnchecked(file, as: name, route)
  }

  private func linkUnchecked(_ file: borrowing Descriptor, as name: String, _ route: NamingRoute) throws(Errno) {
    switch route {
    // AT_EMPTY_PATH, which Swift's Glibc module does not export.
    case .descriptor: try Errno.check(linkat(file.raw, "", descriptor.raw, name, 0x1000))
    case .procfs:
      try Errno.check(linkat(AT_FDCWD, "/proc/self/fd/\(file.raw)", descriptor.raw, name, AT_SYMLINK_FOLLOW))
    }
  }
}
