import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// `$TMPDIR`, else `/tmp`: for data too large for memory that need not outlive the process.
enum TemporaryFolder {
  static func path(_ environment: [String: String]) -> String {
    environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  /// A file system in memory (shm_overview(7)), if it is mounted.
  static let inMemory = "/dev/shm"

  static var hasMemory: Bool { access(inMemory, W_OK | X_OK) == 0 }

  /// Its name is removed at once, so the file disappears with the process in every case.
  static func unnamedFile(in folder: String, _ purpose: String) throws(Errno) -> FileDescriptor {
    // Not mkstemp(3), which leaves the file open in child processes.
    let path = "\(folder)/dlm-\(purpose)-\(UInt64.random(in: 0...UInt64.max))"
    let raw = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw .last }
    _ = unlink(path)
    return FileDescriptor(rawValue: raw)
  }
}
