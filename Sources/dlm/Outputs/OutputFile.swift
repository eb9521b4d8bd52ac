import ArgumentParser
import FileReceiving
import Glibc
import SystemPackage

/// The target of `--failed`, `--events`, `--summary-json` and `--report`: a file that is replaced atomically (0600,
/// because URLs may be signed), or a stream.
struct OutputFile {
  enum Target {
    case file(FilePath)
    /// Opened only when there is something to write.
    case device(FilePath)
    /// Likewise, because opening it waits for its reader.
    case pipe(FilePath)
    /// A descriptor that this process has open: `-`, `fd:3`, `/dev/stdout`, `/dev/fd/5` (a shell's `>(…)`); the last
    /// two are links.
    case descriptor(Int32)
  }

  let target: Target
  /// The option that named it.
  let option: String

  /// - Throws: `ValidationError` for a folder, for a link, which may lead to another user's file, and for a descriptor
  ///   that cannot be written.
  init(_ text: String, option: String) throws {
    self.option = option
    let number = Self.descriptor(Self.path(text))
    if text.utf8.starts(with: "fd:".utf8) { try Self.check(descriptor: number, text, option) }
    if let number {
      target = .descriptor(number)
      return
    }
    var status = stat()
    guard lstat(text, &status) == 0 else {
      // If it cannot be examined, writing it reports the error.
      target = .file(FilePath(text))
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: target = .file(FilePath(text))
    case S_IFDIR: throw ValidationError("\(option) \(text) is a folder; name a file.")
    case S_IFLNK: throw ValidationError("\(option) \(text) is a link; name the file itself.")
    case S_IFIFO: target = .pipe(FilePath(text))
    default: target = .device(FilePath(text))
    }
  }

  /// - Parameter file: replaced, whatever exists there.
  init(_ file: FilePath, option: String) {
    target = .file(file)
    self.option = option
  }

  var isStandardOutput: Bool { if case .descriptor(STDOUT_FILENO) = target { true } else { false } }

  var name: String {
    switch target {
    case .file(let path), .device(let path), .pipe(let path): path.string
    case .descriptor(let number): "descriptor \(number)"
    }
  }

  private static func check(descriptor number: Int32?, _ text: String, _ option: String) throws {
    guard let number, number >= 0 else {
      throw ValidationError(
        "\(option) \"\(text)\" is not a descriptor: give a file, or fd:N for a descriptor that you have opened "
          + "(fd:3)."
      )
    }
    let flags = fcntl(number, F_GETFL)
    guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
      throw ValidationError("\(option) fd:\(number) is not open for writing: open it, as in dlm … \(number)>FILE.")
    }
  }

  /// The path that an option's value means.
  static func path(_ text: String) -> String {
    if text == "-" { return "/dev/stdout" }
    return text.utf8.starts(with: "fd:".utf8) ? "/dev/fd/" + text.dropFirst(3) : text
  }

  /// The open descriptor that a path names; nil for any other path.
  static func descriptor(_ path: String) -> Int32? {
    switch path {
    case "-", "/dev/stdout": return STDOUT_FILENO
    case "/dev/stderr": return STDERR_FILENO
    default:
      for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
        return Int32(path.dropFirst(folder.count))
      }
      return nil
    }
  }

  // MARK: Writing

  /// A message if a file cannot be written; `nil` if it can. Found by trying, because permissions are not the only
  /// obstacle.
  var obstacle: String? {
    guard case .file(let path) = target else { return nil }
    do { _ = try DraftFile(for: path) } catch { return TroubleMessages.notWritten(self, error) }
    return nil
  }

  /// A file is written completely or not at all.
  /// - Returns: messages if it, or the spool, cannot be written.
  func keep(_ text: String, more spool: FailureSpool? = nil) -> [String] {
    func write(to file: FileDescriptor) throws {
      try file.writeWhole(text.utf8)
      try spool?.copy(to: file)
    }
    do {
      switch target {
      case .file(let path):
        var draft = try DraftFile(for: path)
        try write(to: draft.descriptor)
        try draft.commit()
      case .device, .pipe:
        let file = try open()
        try file.closeAfter { try write(to: file) }
      case .descriptor(let number): try write(to: FileDescriptor(rawValue: number))
      }
      return []
    } catch { return [TroubleMessages.notWritten(self, error)] }
  }

  /// For output that is written during a run. An existing file is replaced at once: neither another user's file nor
  /// another link to it is written.
  func open() throws(Errno) -> FileDescriptor {
    switch target {
    case .file(let path):
      var draft = try DraftFile(for: path)
      return try draft.publish()
    case .device(let path), .pipe(let path):
      // Non-blocking, so that a signal can end the wait for room (`writeWhole`), and the wait for a pipe's reader.
      while true {
        let raw = Glibc.open(path.string, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
        if raw >= 0 { return FileDescriptor(rawValue: raw) }
        guard case .pipe = target, errno == ENXIO else { throw .last }
        if Signals.ending != nil { throw .interrupted }
        usleep(20_000)
      }
    case .descriptor(let number): return FileDescriptor(rawValue: number)
    }
  }
}
