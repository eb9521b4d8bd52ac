import Glibc
import SystemPackage

/// Where a run's socket may be: only in a folder that no other user may enter.
struct DoorPlace {
  let path: FilePath
  /// Made for this socket alone, and removed with it.
  private let folder: FilePath?

  /// - Parameters:
  ///   - runtime: XDG_RUNTIME_DIR.
  ///   - folder: of the records, private.
  static func all(of number: Int, runtime: String?, records folder: FilePath) -> [DoorPlace] {
    let name = "\(number).sock"
    // At a logout, logind removes the runtime folder, also that of runs that go on.
    var folders = [folder]
    if let runtime, FilePath(runtime).isAbsolute, isPrivate(runtime) {
      let own = FilePath(runtime).appending("dlm")
      mkdir(own.string, 0o700)
      if isPrivate(own.string) { folders.append(own) }
    }
    return folders.map { $0.appending(name) }.filter { $0.string.utf8.count <= UnixSocket.longestPath }.map {
      DoorPlace(path: $0, folder: nil)
    }
  }

  /// For paths that are too long, and file systems without sockets.
  static func temporary() -> DoorPlace? {
    var template = Array("/tmp/dlm-XXXXXX\0".utf8CString)
    guard let made = mkdtemp(&template) else { return nil }
    let folder = FilePath(String(cString: made))
    return DoorPlace(path: folder.appending("sock"), folder: folder)
  }

  func remove() {
    UnixSocket.remove(path)
    if let folder { rmdir(folder.string) }
  }

  static func isPrivate(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
      && status.st_mode & 0o077 == 0
  }
}
