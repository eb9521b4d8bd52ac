import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// dlm's own files: only the user may write them, and a file that others may have written is not trusted.
enum OwnFiles {
  /// - Returns: `nil` for a folder that is trusted, or missing.
  static func distrust(folder path: FilePath, trustsRoot: Bool = false) -> Distrust? {
    var status = stat()
    guard stat(path.string, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    return Distrust(folder: FileOwnership(status), user: geteuid(), trustsRoot: trustsRoot)
  }

  /// - Returns: empty for a file that is missing, unreadable or not trusted.
  static func bytes(of path: FilePath, upTo limit: Int64) -> [UInt8] {
    let folder = path.removingLastComponent()
    guard distrust(folder: folder) == nil,
      let file = try? Folder(standing: folder).openOwn(path.name, names: .max)
    else { return [] }
    return (try? file.read(Int(min(limit, file.identity().size)))) ?? []
  }

  /// Opens a file for appending or replacing, created if missing, with a lock: while one process replaces the file, no
  /// other appends to the old one. If the file system has no locks, a little may be lost, which is better than failing.
  /// - Parameter lock: LOCK_SH to append, LOCK_EX to replace.
  /// - Throws: `.wouldBlock` if another process has it for five seconds.
  static func locked(_ name: String, in folder: Folder, _ lock: Int32) throws(Errno) -> Descriptor {
    var attempts = 0
    while true {
      attempts += 1
      let file = try folder.open(name, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, mode: 0o600)
      guard try file.isOwn(names: .max) else { throw .notPermitted }
      // The holder writes a page and releases it, unless it is stopped, or is another user's process.
      var tries = 0
      while flock(file.raw, lock | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR {
        tries += 1
        if tries > 500 { throw .wouldBlock }
        usleep(10_000)
      }
      // Otherwise it was replaced before the lock was acquired. Some file systems give one file several numbers, hence
      // the bound.
      if try folder.has(file, as: name) || attempts > 20 { return file }
      file.unlock()
    }
  }
}
