import Glibc
import SystemPackage

/// A file on its way to a name: written beside it under one that nobody can foresee, readable by this user alone, and
/// renamed over it when whole. So no reader meets half a file, no write goes through a link, and nothing that another
/// made is emptied. What is not committed is removed.
struct DraftFile: ~Copyable {
  private let target: FilePath
  private let path: FilePath
  private let file: FileDescriptor
  private var isOpen = true

  /// - Throws: Errno when the folder cannot be written.
  init(for target: FilePath) throws(Errno) {
    self.target = target
    let folder = target.removingLastComponent()
    while true {
      let name = ".dlm-" + String(UInt64.random(in: .min ... .max), radix: 36)
      let path = folder.appending(name)
      let raw = open(path.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      if raw >= 0 {
        self.path = path
        file = FileDescriptor(rawValue: raw)
        return
      }
      guard errno == EEXIST || errno == EINTR else { throw Errno(rawValue: errno) }
    }
  }

  var descriptor: FileDescriptor { file }

  func write(_ bytes: some Sequence<UInt8>) throws(Errno) {
    if let failure = DescriptorWrite.all(bytes, to: file.rawValue) { throw Errno(rawValue: failure) }
  }

  /// Gives the file its name; what stood there is gone in the same instant.
  /// - Throws: Errno, also of writes that are reported only now (NFS, quotas). Then nothing has changed.
  mutating func commit() throws(Errno) {
    isOpen = false
    guard close(file.rawValue) == 0, rename(path.string, target.string) == 0 else {
      let code = Errno(rawValue: errno)
      _ = unlink(path.string)
      throw code
    }
  }

  deinit {
    guard isOpen else { return }
    _ = close(file.rawValue)
    _ = unlink(path.string)
  }
}

/// Folders of dlm's own: this user's alone (0700).
enum PrivateFolder {
  /// Makes the folder and those above it where missing. One that stands there, and is this user's, is closed to others:
  /// earlier versions left it open.
  static func make(_ path: FilePath) throws(Errno) {
    if mkdir(path.string, 0o700) == 0 { return }
    switch errno {
    case EEXIST: close(path)
    case ENOENT:
      let above = path.removingLastComponent()
      guard !above.isEmpty, above != path else { throw .noSuchFileOrDirectory }
      try make(above: above)
      guard mkdir(path.string, 0o700) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
    case let code: throw Errno(rawValue: code)
    }
  }

  /// Not closed if they stand there: `~/.local/state` is not dlm's.
  private static func make(above path: FilePath) throws(Errno) {
    if mkdir(path.string, 0o700) == 0 || errno == EEXIST { return }
    let above = path.removingLastComponent()
    guard errno == ENOENT, !above.isEmpty, above != path else { throw Errno(rawValue: errno) }
    try make(above: above)
    guard mkdir(path.string, 0o700) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
  }

  private static func close(_ path: FilePath) {
    var status = stat()
    guard lstat(path.string, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
      status.st_mode & 0o077 != 0
    else { return }
    // The files in it are 0600: a folder that cannot be closed gives away their names only.
    _ = chmod(path.string, 0o700)
  }
}
