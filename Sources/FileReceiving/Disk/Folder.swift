package import Glibc
package import SystemPackage

/// A folder that was opened once: calls on a name are relative to it, so that no file is led elsewhere if a path above
/// is renamed. A text that is no name, and may lead out of the folder, throws EINVAL.
package final class Folder: Sendable {
  package let path: String
  private let descriptor: Descriptor

  /// Opens the folder. Makes it, and the folders above it, where missing.
  convenience init(_ path: FilePath, mode: mode_t) throws(Errno) {
    do { try self.init(standing: path) } catch .noSuchFileOrDirectory {
      try Self.make(path, mode: mode)
      try self.init(standing: path)
    }
  }

  /// - Throws: `.noSuchFileOrDirectory` where there is none.
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

  /// Opens a folder in this one, made where missing.
  /// - Throws: `.notDirectory` for anything else, also a link to a folder.
  func below(_ name: String) throws(Errno) -> Folder {
    do { return try opened(name) } catch .noSuchFileOrDirectory {
      guard mkdirat(descriptor.raw, name, 0o777) == 0 || errno == EEXIST else { throw .last }
      return try opened(name)
    }
  }

  /// Opens a folder in this one.
  package func opened(_ name: String) throws(Errno) -> Folder {
    Folder(path: path + "/" + name, try open(name, O_RDONLY | O_DIRECTORY))
  }

  /// Makes a folder in this one, for this user alone.
  /// - Throws: `.distrusted` where another folder has taken its place before it is opened.
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

  /// Takes the lock that marks the folder as in use, until it is closed.
  /// - Returns: false if another process has it, or the file system knows no locks.
  package func lock(waits: Bool) -> Bool {
    while flock(descriptor.raw, waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }

  /// A path to this very folder, whatever other users put under its name; where /proc is not mounted, its own path.
  package var heldPath: FilePath {
    let held = "/proc/self/fd/\(descriptor.raw)"
    return FilePath(access(held, F_OK) == 0 ? held : path)
  }

  /// The same under the next number if a file has the name.
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

  /// The path without links and dots, by which the index knows the folder.
  package func canonicalPath() throws(Errno) -> String {
    guard let resolved = realpath(heldPath.string, nil) ?? realpath(path, nil) else { throw .last }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Opens a folder of dlm's own, made where missing.
  /// - Throws: `.distrusted` where others own or may write it (`Distrust`).
  package convenience init(own path: FilePath) throws(Errno) {
    try self.init(path, mode: 0o700)
    let status = try descriptor.status()
    guard Distrust(folder: FileOwnership(status), user: StandingFile.user) == nil else { throw .distrusted }
    // A umask left it open to readers. One that cannot be closed discloses only the names of its private files.
    if status.st_mode & 0o077 != 0 { _ = fchmod(descriptor.raw, 0o700) }
  }

  /// Makes a file of dlm's own, which others open by its path, readable by its user alone.
  /// - Throws: `.tooManySymbolicLinkLevels` where the name is a link, `.distrusted` where others own or may write it.
  package func makePrivate(_ name: String, creating: Bool) throws(Errno) {
    let file: Descriptor
    do {
      file = try open(name, O_RDWR | O_NONBLOCK | (creating ? O_CREAT : 0), mode: 0o600)
    } catch .noSuchFileOrDirectory where !creating { return }
    let status = try file.status()
    guard Distrust(FileOwnership(status), user: StandingFile.user) == nil else { throw .distrusted }
    if status.st_mode & 0o077 != 0, fchmod(file.raw, 0o600) != 0 { throw .last }
  }

  /// What stands under a name where only a file of dlm's own should.
  enum Standing: ~Copyable {
    case nothing
    /// Another user's, or no regular file: nothing of dlm's.
    case foreign
    case own(Descriptor)
  }

  func own(_ name: String, _ flags: Int32, names: Int = 1, closedTo: mode_t = 0) throws(Errno) -> Standing {
    do {
      let file = try open(name, flags | O_NONBLOCK)
      return try file.isOwn(closedTo: closedTo, names: names) ? .own(file) : .foreign
    } catch {
      if error == .noSuchFileOrDirectory { return .nothing }
      if error.isForeign { return .foreign }
      throw error
    }
  }

  /// Opens a file of dlm's own; nil where there is none.
  package func openOwn(
    _ name: String, _ flags: Int32 = O_RDONLY, names: Int = 1, closedTo: mode_t = 0
  ) throws(Errno) -> Descriptor? {
    switch try own(name, flags, names: names, closedTo: closedTo) {
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
      // The file was made for a descriptor that may not be used.
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

  /// What stands under a name, symbolic links not followed; nil if nothing does.
  package func standing(_ name: String) throws(Errno) -> StandingFile? { try status(of: name).map(StandingFile.init) }

  /// Whether a name is that of an open file, still or already.
  package func has(_ file: borrowing Descriptor, as name: String) throws(Errno) -> Bool {
    try standing(name)?.identity.isSameFile(as: file.identity()) == true
  }

  /// Bytes on the disk, as du(1) counts them, of what stands under a name; of a folder with all that is in it.
  /// - Parameter ifRemoved: true to count only what its removal would free: nothing of a file with further names.
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

  /// Bytes that this process may still write here; nil where the file system does not tell (some FUSE).
  package func freeBytes() -> Int64? { bytes(\.f_bavail) }

  /// Bytes that the whole file system has; nil where it does not tell.
  package func diskBytes() -> Int64? { bytes(\.f_blocks) }

  private func bytes(_ blocks: KeyPath<statvfs, fsblkcnt_t>) -> Int64? {
    var status = statvfs()
    guard fstatvfs(descriptor.raw, &status) == 0, status.f_blocks > 0 else { return nil }
    return Int64(clamping: status[keyPath: blocks].multipliedReportingOverflow(by: status.f_frsize).0)
  }

  /// Makes names durable: they are on the disk when this returns. Blocks.
  func sync() throws(Errno) { try Errno.check(fsync(descriptor.raw)) }

  package func remove(_ name: String) throws(Errno) {
    try Self.check(name)
    do { try Errno.check(unlinkat(descriptor.raw, name, 0)) } catch .noSuchFileOrDirectory {}
  }

  /// Removes what stands under a name, a folder with all that is in it. Every step goes through a descriptor: no link
  /// that another user puts in the way leads it elsewhere (HTTP rule 53).
  package func removeWhole(_ name: String) throws(Errno) {
    do { try remove(name) } catch .isDirectory {
      let inside = try opened(name)
      for name in try inside.names() { try inside.removeWhole(name) }
      guard try remove(name, of: inside) else { throw .distrusted }
    }
  }

  /// Removes the name of an empty folder.
  /// - Returns: false if something else stands under it by now, which stays.
  package func remove(_ name: String, of inside: Folder) throws(Errno) -> Bool {
    let own = try inside.descriptor.status()
    guard let found = try status(of: name), found.st_ino == own.st_ino, found.st_dev == own.st_dev else { return false }
    try Errno.check(unlinkat(descriptor.raw, name, AT_REMOVEDIR))
    return true
  }

  /// Renames; replaces what stands under `new` in the same instant.
  package func rename(_ old: String, replacing new: String) throws(Errno) { try move(old, to: self, replacing: new) }

  /// Renames if nothing stands under `new`; EEXIST otherwise. It links and then removes the old name: killed in
  /// between, dlm leaves both. (Swift's Glibc module does not export renameat2, and NFS does not support its flag.)
  package func rename(_ old: String, toFree new: String) throws(Errno) {
    try Self.check(old)
    try Self.check(new)
    if linkat(descriptor.raw, old, descriptor.raw, new, 0) == 0 { return try remove(old) }
    guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { throw .last }
    // FAT and similar file systems have no links; there only a check before the rename is possible.
    guard try standing(new) == nil else { throw .fileExists }
    try rename(old, replacing: new)
  }

  /// Moves a file into another folder of the same disk; replaces what stands under `new` in the same instant.
  package func move(_ old: String, to other: Folder, replacing new: String) throws(Errno) {
    try Self.check(old)
    try Self.check(new)
    try Errno.check(renameat(descriptor.raw, old, other.descriptor.raw, new))
  }

  /// Gives a file elsewhere on the same disk a further name here; EEXIST if that is taken. Links are not followed.
  package func link(path: String, as name: String) throws(Errno) {
    try Self.check(name)
    try Errno.check(linkat(AT_FDCWD, path, descriptor.raw, name, 0))
  }

  /// Names in the folder, in no order, without `.` and `..`.
  package func names() throws(Errno) -> [String] { try names(atMost: .max) ?? [] }

  /// The same, or nil if there are more than `limit`.
  func names(atMost limit: Int) throws(Errno) -> [String]? {
    // A descriptor of its own, because fdopendir takes it over together with its reading position.
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

  /// Removes a file under a name that only this user's dlm can compute, if the file is the user's own.
  /// - Returns: false if something else stands there, which stays.
  package func removeOwn(_ name: String) throws(Errno) -> Bool {
    switch try own(name, O_RDONLY) {
    case .nothing: return true
    case .foreign: return false
    case .own:
      try remove(name)
      return true
    }
  }

  /// The permissions that a new file gets here: 0666 less what the process's mask or the folder's own rules forbid.
  func modeOfNewFiles() -> mode_t {
    (try? openUnnamed().status()).map { $0.st_mode & 0o7777 } ?? 0o666 & ~Self.creationMask
  }

  /// The umask, read from /proc because umask(2) would change it for every thread; closed to other users where the
  /// kernel does not tell.
  private static let creationMask: mode_t = {
    let raw = Glibc.open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard raw >= 0, let status = try? Descriptor(raw).read(4096) else { return 0o077 }
    let line = status.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "Umask:".utf8) }
    let digits = line.map { String(decoding: $0.filter { (0x30...0x37).contains($0) }, as: UTF8.self) } ?? ""
    return mode_t(digits, radix: 8) ?? 0o077
  }()

  // MARK: Files without a name

  /// Makes a complete and locked file of dlm's own. It is named only then, so that a kill leaves nothing where the disk
  /// has files without names.
  /// - Throws: `.fileExists` if something stands under the name.
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

  /// How a file without a name gets one here; nil where the file system (NFS, FAT, some FUSE) or the sandbox cannot do
  /// it. The test leaves nothing behind.
  package func routeForUnnamedFiles() -> NamingRoute? {
    guard let file = try? openUnnamed() else { return nil }
    return [.descriptor, .procfs].first { route in
      // "." always exists, so EEXIST shows that everything else would have worked.
      do throws(Errno) { try linkUnchecked(file, as: ".", route) } catch { return error == .fileExists }
      return false
    }
  }

  /// A new file without a name (O_TMPFILE): if dlm is killed, nothing of it stays.
  package func openUnnamed(mode: mode_t = 0o666) throws(Errno) -> Descriptor {
    // Linux's O_TMPFILE is this bit and O_DIRECTORY; the Glibc module does not export it.
    try openUnchecked(".", 0o20000000 | O_DIRECTORY | O_RDWR, mode)
  }

  /// Gives an unnamed file a name; EEXIST if something stands there.
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

/// The two ways that Linux has for naming an unnamed file (open(2), O_TMPFILE).
package enum NamingRoute {
  /// By its descriptor: for anyone since Linux 6.10, for CAP_DAC_READ_SEARCH before.
  case descriptor
  /// By its link in /proc: for anyone, where /proc is mounted.
  case procfs
}
