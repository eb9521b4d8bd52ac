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
    let path = folder.appending("known_hosts")
    mkdir(folder.string, 0o700)
    let name = key.port == 22 ? key.host : "[\(key.host)]:\(key.port)"
    do {
      let file = try FileDescriptor.open(
        path, .writeOnly, options: [.append, .create, .closeOnExec],
        permissions: FilePermissions(rawValue: 0o600))
      // The last line may lack its end.
      let last = FileDescriptor.bytes(of: path, upTo: 16 << 20)?.last ?? 0x0A
      let start = last == 0x0A ? "" : "\n"
      _ = try file.closeAfter { try file.writeAll(Array("\(start)\(name) \(key.type) \(key.key)\n".utf8)) }
      return nil
    } catch {
      return "dlm: the key of \(key.host) counts for this run only: ~/.ssh/known_hosts cannot be written (\(error))"
    }
  }
}
