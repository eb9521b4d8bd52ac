import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// dlm's own files: only the user may write them, and what others may have written is not believed.
enum OwnFiles {
  /// - Returns: nil for a folder that is believed, or missing.
  static func distrust(folder path: FilePath, trustsRoot: Bool = false) -> Distrust? {
    var status = stat()
    guard stat(path.string, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    return Distrust(folder: FileOwnership(status), user: geteuid(), trustsRoot: trustsRoot)
  }

  /// - Returns: nothing for a file that is missing, cannot be read or is not believed.
  static func bytes(of path: FilePath, upTo limit: Int64) -> [UInt8] {
    let folder = path.removingLastComponent()
    guard distrust(folder: folder) == nil, let name = path.lastComponent?.string,
      let file = try? Folder(standing: folder).openOwn(name, names: .max)
    else { return [] }
    return (try? file.read(Int(min(limit, file.identity().size)))) ?? []
  }

  /// Opens a file to add to, or to replace, made where missing, with a lock: while one process replaces the file, no
  /// other adds to the old one. Where the file system knows no locks, a little may be lost: better than all.
  /// - Parameter lock: LOCK_SH to add, LOCK_EX to replace.
  /// - Throws: `.wouldBlock` if another process has it for five seconds.
  static func locked(_ name: String, in folder: Folder, _ lock: Int32) throws(Errno) -> Descriptor {
    var attempts = 0
    while true {
      attempts += 1
      let file = try folder.open(name, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, mode: 0o600)
      guard try file.isOwn(names: .max) else { throw .notPermitted }
      // Who holds it writes a page, unless it is stopped, or a stranger to a user's own file.
      var tries = 0
      while flock(file.raw, lock | LOCK_NB) != 0, errno == EWOULDBLOCK || errno == EINTR {
        tries += 1
        if tries > 500 { throw .wouldBlock }
        usleep(10_000)
      }
      // Else it was replaced before the lock was had. Some file systems give one file several numbers, hence the bound.
      if try folder.has(file, as: name) || attempts > 20 { return file }
      file.unlock()
    }
  }
}
