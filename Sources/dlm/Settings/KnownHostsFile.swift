import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// The user's own file of host keys, `~/.ssh/known_hosts`.
enum KnownHostsFile {
  /// Adds a key that the user accepts, as ssh does.
  /// - Returns: a message if it cannot be written.
  static func add(_ key: UnknownHostKey) -> String? {
    let folder = FilePath(ConnectionSettings.sshFolder)
    mkdir(folder.string, 0o700)
    let name = key.port == 22 ? key.host : "[\(key.host)]:\(key.port)"
    do {
      let file = try FileDescriptor.open(
        folder.appending("known_hosts"), .writeOnly, options: [.append, .create, .closeOnExec],
        permissions: FilePermissions(rawValue: 0o600))
      _ = try file.closeAfter { try file.writeAll(Array("\(name) \(key.type) \(key.key)\n".utf8)) }
      return nil
    } catch {
      return "dlm: the key of \(key.host) counts for this run only: ~/.ssh/known_hosts cannot be written (\(error))"
    }
  }
}
