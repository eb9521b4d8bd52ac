import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// A folder for files that are downloaded only for a measurement or comparison. It is locked while its process lives;
/// the next run in the same place removes folders that killed runs left: this user's own, marked, and not locked.
///
/// Other users may write its parent folder, and put a link under its name. So files are written, read and removed
/// through its descriptor (`held`, HTTP rule 53); its path is only for messages.
final class ScratchFolder: Sendable {
  let path: FilePath
  private let parent: Folder
  private let name: String
  private let folder: Folder

  private static let mark = ".dlm-scratch"

  convenience init(below folder: String) throws(Errno) { try self.init("dlm-compare-", in: folder) }

  /// Hidden in the output folder, so on the same disk as the files of the comparison.
  /// - Throws: `.folder`.
  convenience init(inside directory: String) throws(DownloadError) {
    let directory = directory.isEmpty ? "." : directory
    do { try self.init(".dlm-compare-", in: directory) } catch {
      throw DownloadError(.folder, cause: .errno(error.rawValue), path: directory, activity: "making a scratch folder")
    }
  }

  /// A random name; permissions for this user alone.
  private init(_ beginning: String, in folder: String) throws(Errno) {
    parent = try Folder(standing: FilePath(folder))
    Self.removeAbandoned(beginning, in: parent)
    name = beginning + String(UInt64.random(in: .min ... .max), radix: 36)
    path = FilePath(folder).appending(name)
    self.folder = try parent.makePrivateFolder(name)
    do {
      // Another process may be checking; it lets go without the mark. If the file system has no locks, the folders of
      // killed runs stay.
      _ = self.folder.lock(waits: true)
      _ = try self.folder.open(Self.mark, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    } catch {
      _ = try? parent.remove(name, of: self.folder)
      throw error
    }
  }

  private static func removeAbandoned(_ beginning: String, in parent: Folder) {
    for name in (try? parent.names()) ?? [] where name.hasPrefix(beginning) {
      guard let folder = try? parent.opened(name), (try? folder.isPrivate()) == true, folder.lock(waits: false),
        let mark = try? folder.standing(mark), mark.isUsers, mark.identity.isRegularFile
      else { continue }
      remove(folder, name, in: parent)
    }
  }

  /// Bytes that this user may still write to the folder's disk; `nil` if unknown.
  static func room(in directory: String) -> Int64? {
    (try? Folder(standing: directory.isEmpty ? "." : FilePath(directory)))?.freeBytes()
  }

  /// Turns a path inside this folder into one through its descriptor, valid even if other users move the folder.
  /// Returns `path` for other paths, and without /proc.
  func held(_ path: String) -> String {
    let own = self.path.string + "/"
    return path.hasPrefix(own) ? "\(folder.heldPath)/\(path.dropFirst(own.count))" : path
  }

  /// Removes the entry of that name in it, recursively.
  func removeWhole(_ name: String) throws(DownloadError) {
    do { try folder.removeWhole(name) } catch {
      throw DownloadError(.disk, error, path.appending(name).string, "removing a scratch folder")
    }
  }

  func remove() { Self.remove(folder, name, in: parent) }

  /// The mark goes last, so that a partly removed folder is still recognised.
  private static func remove(_ folder: Folder, _ name: String, in parent: Folder) {
    do {
      for name in try folder.names() where name != mark { try folder.removeWhole(name) }
      try folder.remove(mark)
      if try !parent.remove(name, of: folder) {
        StandardError.say(
          "dlm: the scratch folder \(folder.path) was renamed while dlm used it, and another has its name; "
            + "choose a folder that only you can write")
      }
    } catch {
      StandardError.say(FailureMessages(DownloadError(.disk, error, folder.path, "removing a scratch folder")).said)
    }
  }
}
