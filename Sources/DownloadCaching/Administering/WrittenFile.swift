import FileReceiving
import SystemPackage

/// A finished file that the index knows, while it is removed from the disk (`dlm clear-cache --files`).
///
/// Only a file that is unchanged since dlm wrote it is removed. Another program could put a file under the name between
/// a check and the removal. So the file is first renamed to a name that only this user's dlm can compute, checked
/// again, and then either removed or renamed back.
///
/// | step | killed after it, there is | and the next `--files` |
/// |---|---|---|
/// | 1 looked at | the file, its row | begins anew |
/// | 2 renamed | a file of the private name, the row | removes it if it is the row's, else names it back |
/// | 3 removed | the row alone | forgets the row |
struct WrittenFile {
  let row: CacheRow
  let secret: UserSecret

  private var privateName: String { ".dlm-" + secret.tag("file to be removed", "\(row.key.directory)\0\(row.name)") }

  /// - Parameter beforeRename: runs between the check of the file and its renaming.
  /// - Returns: the bytes of the file, as du(1) counts; `nil` if it is missing, changed, or another file.
  func remove(_ beforeRename: () -> Void = {}) throws(Errno) -> Int64? {
    let folder: Folder
    do {
      folder = try Folder(standing: FilePath(row.key.directory))
      // A link in the path leads elsewhere by now.
      guard try folder.canonicalPath().utf8.elementsEqual(row.key.directory.utf8) else { return nil }
    } catch .noSuchFileOrDirectory, .notDirectory { return nil }
    if let left = try finish(in: folder) { return left }
    guard try row.isIntact(folder.standing(row.name)) else { return nil }
    beforeRename()
    do { try folder.rename(row.name, replacing: privateName) } catch .noSuchFileOrDirectory {
      return nil
    }
    return try finish(in: folder)
  }

  /// Removes the file under the private name if it is the row's; otherwise renames it back.
  private func finish(in folder: Folder) throws(Errno) -> Int64? {
    guard let there = try folder.standing(privateName) else { return nil }
    if row.isOwn(there) {
      let bytes = try folder.allocatedBytes(of: privateName, ifRemoved: true)
      try folder.remove(privateName)
      return bytes
    }
    var number = 0
    while true {
      do {
        try folder.rename(privateName, toFree: FileNaming.alternative(row.name, number))
        return nil
      } catch .fileExists where number < 1000 {
        number += 1
      }
    }
  }
}
