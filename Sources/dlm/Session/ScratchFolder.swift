import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// A folder for what is downloaded only to be measured or compared. It is locked while its process lives; the next run
/// in the same place removes what a killed one left: this user's own, marked, and not locked.
final class ScratchFolder: Sendable {
  let path: FilePath
  private let lock: FileDescriptor

  private static let mark = ".dlm-scratch"

  convenience init(below folder: String) throws(Errno) { try self.init("dlm-compare-", in: folder) }

  /// Hidden in the output folder, so on the same disk as the files that it is compared with.
  /// - Throws: `.folder`.
  convenience init(inside directory: String) throws(DownloadError) {
    let directory = directory.isEmpty ? "." : directory
    do throws(Errno) { try self.init(".dlm-compare-", in: directory) } catch {
      throw DownloadError(.folder, cause: .errno(error.rawValue), path: directory, activity: "making a scratch folder")
    }
  }

  /// A random name, for this user alone (mkdtemp(3), 0700).
  private init(_ beginning: String, in folder: String) throws(Errno) {
    Self.removeAbandoned(beginning, in: folder)
    var template = Array("\(folder)/\(beginning)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
    path = FilePath(String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    do throws(Errno) {
      lock = try Self.open(path)
      // Another process may be looking; without the mark it lets go. Where the file system knows no locks, what a kill
      // leaves stays.
      while flock(lock.rawValue, LOCK_EX) != 0, errno == EINTR {}
      let mark = openat(lock.rawValue, Self.mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard mark >= 0 else { throw Errno(rawValue: errno) }
      _ = close(mark)
    } catch {
      _ = rmdir(path.string)
      throw error
    }
  }

  deinit { _ = close(lock.rawValue) }

  private static func open(_ path: FilePath) throws(Errno) -> FileDescriptor {
    let raw = Glibc.open(path.string, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    return FileDescriptor(rawValue: raw)
  }

  private static func removeAbandoned(_ beginning: String, in folder: String) {
    for name in FileManager.default.names(in: folder) where name.hasPrefix(beginning) {
      let path = FilePath(folder).appending(name)
      guard let descriptor = try? open(path) else { continue }
      if isAbandoned(descriptor.rawValue) { remove(path) }
      _ = close(descriptor.rawValue)
    }
  }

  private static func isAbandoned(_ folder: Int32) -> Bool {
    var (status, mark) = (stat(), stat())
    return fstat(folder, &status) == 0 && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
      && flock(folder, LOCK_EX | LOCK_NB) == 0
      && fstatat(folder, Self.mark, &mark, AT_SYMLINK_NOFOLLOW) == 0 && mark.st_uid == geteuid()
      && mark.st_mode & S_IFMT == S_IFREG
  }

  /// Bytes that this user may still write to the folder's disk; nil where unknown.
  static func room(in directory: String) -> Int64? {
    (try? Folder(standing: directory.isEmpty ? "." : FilePath(directory)))?.freeBytes()
  }

  func remove() { Self.remove(path) }

  /// The mark goes last, so that a folder left half removed is still recognised.
  private static func remove(_ path: FilePath) {
    do throws(DownloadError) {
      for name in FileManager.default.names(in: path.string) where name != mark {
        try removeWhole(path.appending(name))
      }
      try removeWhole(path)
    } catch { StandardError.say(["dlm: \(path): \(FailureMessages(error).line)"]) }
  }

  static func removeWhole(_ folder: FilePath) throws(DownloadError) {
    guard access(folder.string, F_OK) == 0 else { return }
    do { try FileManager.default.removeItem(atPath: folder.string) } catch {
      throw DownloadError(.disk, cause: .detail("\(error)"), path: folder.string, activity: "removing a scratch folder")
    }
  }
}
