import FileReceiving
import Glibc
import SystemPackage

/// Written beside its target under a random name (0600), and renamed over it when complete, else removed. So no reader
/// sees half a file, and no write follows a link or empties another user's file.
struct DraftFile: ~Copyable {
  private let folder: Folder?
  private let target: FilePath
  private let path: FilePath
  let descriptor: FileDescriptor
  private var isOpen = true

  init(for target: FilePath) throws(Errno) {
    let above = target.folder
    // Both names are in one folder, even if its path leads elsewhere later (HTTP rule 53). A write-only folder is not
    // opened.
    folder = try? Folder(standing: above)
    let held = folder?.heldPath ?? above
    self.target = held.appending(target.name)
    path = held.appending(".dlm-" + String(UInt64.random(in: .min ... .max), radix: 36))
    let raw = open(path.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw .last }
    descriptor = FileDescriptor(rawValue: raw)
  }

  func write(_ bytes: some Sequence<UInt8>) throws(Errno) { try descriptor.writeWhole(bytes) }

  /// Replaces the existing file atomically.
  /// - Throws: Errno, also of writes that are reported only now (NFS, quotas); nothing has changed then.
  mutating func commit() throws(Errno) {
    isOpen = false
    guard close(descriptor.rawValue) == 0, rename(path.string, target.string) == 0 else {
      let code = Errno.last
      _ = unlink(path.string)
      throw code
    }
  }

  /// Gives the file its name before it is complete, for a file that is read while it grows.
  /// - Throws: Errno; nothing has changed then.
  mutating func publish() throws(Errno) -> FileDescriptor {
    guard rename(path.string, target.string) == 0 else { throw .last }
    isOpen = false
    return descriptor
  }

  deinit {
    guard isOpen else { return }
    _ = close(descriptor.rawValue)
    _ = unlink(path.string)
  }
}
