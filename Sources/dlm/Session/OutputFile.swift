import ArgumentParser
import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Where `--failed`, `--events`, `--summary-json` and `--report` write: a file that is replaced as a whole (0600, as
/// addresses may be signed), or something that takes a stream.
struct OutputFile {
  enum Target {
    case file(FilePath)
    /// Opened only when there is something to write.
    case device(FilePath)
    /// Likewise, as opening it waits for its reader.
    case pipe(FilePath)
    /// One that this process has open: `-`, `fd:3`, `/dev/stdout`, `/dev/fd/5` (a shell's `>(…)`), the last two of
    /// which are links.
    case descriptor(Int32)
  }

  let target: Target
  /// Which named it.
  let option: String

  /// - Throws: `ValidationError` for a folder, for a link, which may lead to another user's file, and for a descriptor
  ///   that cannot be written.
  init(_ text: String, option: String) throws {
    self.option = option
    let number = Self.descriptor(Self.path(text))
    if text.utf8.starts(with: "fd:".utf8) {
      guard let number, number >= 0 else {
        throw ValidationError(
          "\(option) \"\(text)\" is not a descriptor: give a file, or fd:N for a descriptor that you have opened "
            + "(fd:3)."
        )
      }
      let flags = fcntl(number, F_GETFL)
      guard flags >= 0, flags & O_ACCMODE != O_RDONLY else {
        throw ValidationError(
          "\(option) fd:\(number) is not open for writing: open it, as in dlm … \(number)>FILE.")
      }
    }
    if let number {
      target = .descriptor(number)
      return
    }
    var status = stat()
    guard lstat(text, &status) == 0 else {
      // If it cannot be looked at, writing it will say so.
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

  /// - Parameter file: replaced, whatever stands there.
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

  /// The path that an option's value stands for.
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

  /// What to say if a file cannot be written; nil if it can. Found by trying, since rights are not all that counts.
  var obstacle: String? {
    guard case .file(let path) = target else { return nil }
    do { _ = try DraftFile(for: path) } catch { return TroubleMessages.notWritten(self, error) }
    return nil
  }

  /// - Returns: what to say where it cannot be written.
  func keep(_ text: String, more spool: FailureSpool? = nil) -> [String] {
    do { try write(text, more: spool) } catch { return [TroubleMessages.notWritten(self, error)] }
    return []
  }

  /// A file is there as a whole or not at all.
  /// - Throws: Errno of the file, or of the spool.
  private func write(_ text: String, more spool: FailureSpool?) throws {
    func write(to file: FileDescriptor) throws {
      try file.writeWhole(text.utf8)
      try spool?.copy(to: file)
    }
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
  }

  /// For what is written bit by bit during a run. A file that is there is replaced at once: neither another user's file
  /// nor another name of it is written.
  func open() throws(Errno) -> FileDescriptor {
    switch target {
    case .file(let path):
      var draft = try DraftFile(for: path)
      return try draft.publish()
    case .device(let path), .pipe(let path):
      // Not blocking, so that a signal can end the wait for room (`writeWhole`), and that for a pipe's reader.
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

/// The JSON lines of `--events`: another reader of the feed beside the display.
final class EventRecord: Sendable {
  private let file: OutputFile
  private let descriptor: FileDescriptor
  private let lost = Lock(false)

  /// A pipe waits for its reader.
  init(_ file: OutputFile) throws(Errno) {
    self.file = file
    descriptor = try file.open()
  }

  deinit {
    if case .descriptor = file.target { return }
    try? descriptor.close()  // a write that failed has been told
  }

  /// Lost lines fail the run: they are data.
  var hasLostData: Bool { lost.withLock { $0 } }

  func record<Value: Sendable>(_ feed: ProgressFeed, while work: @Sendable () async -> Value) async -> Value {
    guard
      let renderer = ProgressRenderer(
        feed: feed, style: .json, output: TerminalOutput(descriptor: descriptor.rawValue),
        environment: TerminalEnvironment(isTerminal: false, variables: [:]), words: DisplayWords.all)
    else { return await work() }
    async let writing: Void = renderer.run()
    let value = await work()
    await renderer.finish()
    await writing
    if let loss = await renderer.lost {
      lost.withLock { $0 = true }
      StandardError.say(TroubleMessages.notWritten(file, Errno(rawValue: loss.errno)))
    }
    return value
  }
}

/// Written beside its target under a random name (0600), and renamed over it when whole, else removed. So no reader
/// sees half a file, and no write follows a link or empties another user's file.
struct DraftFile: ~Copyable {
  private let folder: Folder?
  private let target: FilePath
  private let path: FilePath
  let descriptor: FileDescriptor
  private var isOpen = true

  init(for target: FilePath) throws(Errno) {
    let above = target.removingLastComponent()
    // Both names are of one folder, whatever its path leads to by then (HTTP rule 53). One that can only be written is
    // not opened.
    folder = try? Folder(standing: above.isEmpty ? "." : above)
    let held = folder?.heldPath ?? above
    self.target = held.appending(target.lastComponent?.string ?? "")
    path = held.appending(".dlm-" + String(UInt64.random(in: .min ... .max), radix: 36))
    let raw = open(path.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    descriptor = FileDescriptor(rawValue: raw)
  }

  func write(_ bytes: some Sequence<UInt8>) throws(Errno) { try descriptor.writeWhole(bytes) }

  /// Replaces what stood there in the same instant.
  /// - Throws: Errno, also of writes that are reported only now (NFS, quotas); nothing has changed then.
  mutating func commit() throws(Errno) {
    isOpen = false
    guard close(descriptor.rawValue) == 0, rename(path.string, target.string) == 0 else {
      let code = Errno(rawValue: errno)
      _ = unlink(path.string)
      throw code
    }
  }

  /// Gives the file its name before it is whole, for what is read while it grows.
  /// - Throws: Errno; nothing has changed then.
  mutating func publish() throws(Errno) -> FileDescriptor {
    guard rename(path.string, target.string) == 0 else { throw Errno(rawValue: errno) }
    isOpen = false
    return descriptor
  }

  deinit {
    guard isOpen else { return }
    _ = close(descriptor.rawValue)
    _ = unlink(path.string)
  }
}

/// The files that a command names: none is written that is read too, or is another that is written.
enum NamedFiles {
  /// Messages call it by its name: `--failed again.txt`. The file is known by device and inode, or by those of its
  /// folder and its name where it is not there yet.
  private typealias Place = (name: String, path: String, file: String)

  /// To be called before anything is opened for writing.
  static func check(_ command: GetCommand, _ lists: [Source], _ environment: [String: String]) throws {
    let written = places(.written, command)
    let settings = [SettingsSources.folderPath, SettingsSources.ownPath(environment)].compactMap(\.self)
    let read =
      lists.compactMap { source in
        switch source {
        case .list(let path): place("the list \(path)", path)
        case .standardInput: place("standard input", "/dev/stdin")
        case .address, .listAt: nil
        }
      } + settings.compactMap { place("the settings file \($0)", $0.string) }
      + places(.read, command)
    for (index, output) in written.enumerated() {
      if let input = read.first(where: { $0.file == output.file }) {
        throw ValidationError(
          "\(output.name) would overwrite what is read: \(input.name) is the same file. Name another.")
      }
      // Descriptors that the caller has opened may be one stream.
      if let other = written[..<index].first(where: { $0.file == output.file }),
        [other, output].contains(where: { OutputFile.descriptor($0.path) == nil })
      {
        throw ValidationError("\(other.name) and \(output.name) are one file: name two.")
      }
    }
  }

  private static func places(_ use: OptionTable.FileUse, _ command: GetCommand) -> [Place] {
    var command = command
    return OptionTable.rows.filter { $0.file == use }.flatMap { row in
      row.texts(&command).compactMap { text in
        if row.kind == .headers, !HeaderArgument(argument: text).isFile { return nil }
        let path = row.kind == .headers ? String(text.dropFirst()) : text
        return place("\(row.spelled) \(path)", use == .written ? OutputFile.path(path) : path)
      }
    }
  }

  /// - Returns: nil for a device, as any number of outputs may go to one.
  private static func place(_ name: String, _ path: String) -> Place? {
    var status = stat()
    // In `new/../file`, the folder may be made before the file is written.
    let normal = FilePath(path).lexicallyNormalized()
    var newName = ""
    if stat(path, &status) == 0 || stat(normal.string, &status) == 0 {
      guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else { return nil }
    } else {
      guard stat(normal.folder.string, &status) == 0 else { return nil }
      newName = normal.lastComponent?.string ?? ""
    }
    return (name, path, "\(status.st_dev) \(status.st_ino) \(newName)")
  }
}
