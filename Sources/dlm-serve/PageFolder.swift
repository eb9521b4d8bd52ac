import FileReceiving
import Glibc
import SystemPackage

/// The folder below which the page reads and writes files.
struct PageFolder: Sendable {
  /// Absolute, without links.
  let root: String

  struct Outside: Error {}

  /// - Parameter relative: as typed; empty for the folder itself. Missing folders are made later, by dlm.
  /// - Returns: the absolute path.
  func path(below relative: String) throws(Outside) -> String {
    if relative.isEmpty { return root }
    guard FileNaming.isUsablePath(relative) else { throw Outside() }
    let path = FilePath(root).appending(relative)
    // A link may lead out of it. What is missing is no link.
    var existing = path
    while existing.string != root, access(existing.string, F_OK) != 0, lstatFails(existing) {
      existing = existing.removingLastComponent()
    }
    guard contains(existing.string) else { throw Outside() }
    return path.string
  }

  private func lstatFails(_ path: FilePath) -> Bool {
    var status = stat()
    return lstat(path.string, &status) != 0
  }

  /// Whether an existing file or folder is below it, links followed.
  func contains(_ path: String) -> Bool {
    guard let resolved = realpath(path, nil) else { return false }
    defer { free(resolved) }
    let real = String(cString: resolved)
    return real == root || real.hasPrefix(root == "/" ? root : root + "/")
  }
}
