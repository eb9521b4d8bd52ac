import ArgumentParser
import DownloadModel
import Glibc
import SystemPackage

/// Where `--failed` writes to: a file, which is replaced as a whole, or something that takes a stream (a pipe, a
/// terminal, `/dev/stdout`).
///
/// The list holds addresses as they must be fetched again, signatures and all, so the file is this user's alone (0600).
enum FailedListFile {
  case file(FilePath)
  /// Opened by its name when there is something to write: a pipe waits for its reader then.
  case stream(FilePath)
  /// One that this process has open: `/dev/stdout`, `/dev/fd/5` (a shell's `>(…)`). Its name is a link, which leads to
  /// what the caller opened.
  case descriptor(Int32)

  /// Looks at what stands there, before the run.
  /// - Throws: `ValidationError` for a folder, and for a link: what it leads to may be anybody's.
  init(_ path: String) throws {
    if let number = Self.descriptor(path) {
      self = .descriptor(number)
      return
    }
    var status = stat()
    guard lstat(path, &status) == 0 else {
      // Not there, or not to be looked at: writing it will say so.
      self = .file(FilePath(path))
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: self = .file(FilePath(path))
    case S_IFDIR: throw ValidationError("--failed \(path) is a folder; name a file.")
    case S_IFLNK: throw ValidationError("--failed \(path) is a link; name the file itself.")
    default: self = .stream(FilePath(path))
    }
  }

  /// As messages name it.
  var name: String {
    switch self {
    case .file(let path), .stream(let path): path.string
    case .descriptor(let number): "descriptor \(number)"
    }
  }

  private static func descriptor(_ path: String) -> Int32? {
    switch path {
    case "/dev/stdout": return STDOUT_FILENO
    case "/dev/stderr": return STDERR_FILENO
    default:
      for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
        return Int32(path.dropFirst(folder.count))
      }
      return nil
    }
  }

  /// Writes the list of a run's failures, those that were only spooled included.
  /// - Throws: Errno of the file, or of the spool.
  func write(_ list: FailedList, more spool: FailureSpool?) throws {
    switch self {
    case .file(let path):
      var draft = try DraftFile(for: path)
      try Self.write(list, spool, to: draft.descriptor)
      try draft.commit()
    case .stream(let path):
      let file = try FileDescriptor.open(path, .writeOnly, options: [.closeOnExec])
      try file.closeAfter { try Self.write(list, spool, to: file) }
    case .descriptor(let number):
      try Self.write(list, spool, to: FileDescriptor(rawValue: number))
    }
  }

  private static func write(_ list: FailedList, _ spool: FailureSpool?, to file: FileDescriptor) throws {
    try file.writeAll(list.text.utf8)
    try spool?.copy(to: file)
  }
}
