import Glibc

/// What shows that a file is the one that was written, and untouched since.
struct FileIdentity: Sendable, Equatable {
  var device: Int64
  var inode: Int64
  /// Bytes.
  var size: Int64
  /// Last change of the content, in nanoseconds since 1970.
  var modified: Int64
}

/// A file as it stands under its name.
struct StandingFile: Sendable, Equatable {
  var identity: FileIdentity
  /// Last change of content, names or rights (ctime), in nanoseconds since 1970. Giving a file its name counts, and
  /// nobody can set it: what was given a name in this run is younger than the run.
  var changed: Int64

  init(_ status: stat) {
    identity = FileIdentity(status)
    changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
  }
}

extension FileIdentity {
  /// - Returns: for anything but a regular file an identity that equals no file's.
  init(_ status: stat) {
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    self.init(
      device: Int64(truncatingIfNeeded: status.st_dev),
      inode: isRegular ? Int64(truncatingIfNeeded: status.st_ino) : 0,
      size: isRegular ? Int64(status.st_size) : -1,
      modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
  }

  var isRegularFile: Bool { size >= 0 }

  /// The same file, whatever happened to its content.
  func isSameFile(as other: FileIdentity) -> Bool {
    isRegularFile && inode == other.inode && device == other.device
  }

  /// The file at a path, symbolic links not followed; nil if there is none that can be looked at.
  static func of(path: String) -> FileIdentity? {
    var status = stat()
    return lstat(path, &status) == 0 ? FileIdentity(status) : nil
  }
}
