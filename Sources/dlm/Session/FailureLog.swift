import ArgumentParser
import DownloadModel
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// The failures of a run, for the summary and the exit status. Memory does not grow with a list of which
/// every file fails: beyond some thousands, failures are only counted, and spooled for `--failed`, which
/// lists them all.
final class FailureLog: Sendable {
  /// How many failures are kept to be shown one by one: more cannot be read in a terminal.
  static let told = 10_000

  let spool: FailureSpool?
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var failures: [DownloadError] = []
    var rejections: [Rejection] = []
    var kinds: Set<Kind> = []
    var more = 0
  }

  /// For the exit status the first failure of each kind is kept, however late it comes.
  private struct Kind: Hashable {
    var code: DownloadError.Code
    var isTransient: Bool
  }

  init(spool: FailureSpool? = nil, limit: Int = told) {
    self.spool = spool
    self.limit = limit
  }

  func add(_ error: DownloadError) {
    guard error.code != .cancelled else { return }
    let isKept = state.withLock { state in
      let isNew = state.kinds.insert(Kind(code: error.code, isTransient: error.isTransient)).inserted
      guard state.failures.count < limit || isNew else {
        state.more += 1
        return false
      }
      state.failures.append(error)
      return true
    }
    if !isKept { spool?.add(error) }
  }

  func add(_ rejection: Rejection) {
    state.withLock { state in
      if state.rejections.count < limit { state.rejections.append(rejection) } else { state.more += 1 }
    }
  }

  var failures: [DownloadError] { state.withLock { $0.failures } }
  var rejections: [Rejection] { state.withLock { $0.rejections } }
  /// Whether nothing failed and nothing was refused.
  var isEmpty: Bool { state.withLock { $0.failures.isEmpty && $0.rejections.isEmpty } }
  /// How many failures were only counted.
  var more: Int { state.withLock { $0.more } }
}

/// Failures on disk, in a file without a name: a list of millions may need it, and memory should not hold
/// them.
final class FailureSpool: Sendable {
  private let state: Mutex<State>

  private struct State {
    let file: FileDescriptor
    var heading = ""
    /// Lines that are not in the file yet.
    var waiting = ""
    var failure: Errno?
  }

  /// - Throws: Errno when the temporary folder cannot be written.
  init(in folder: String) throws(Errno) {
    state = Mutex(State(file: try TemporaryFolder.unnamedFile(in: folder, "failed")))
  }

  deinit { state.withLock { try? $0.file.close() } }  // it is read no more

  /// As a list has it: the address, under a comment where the cause is another than before.
  func add(_ error: DownloadError) {
    let heading = FailedList.oneLine(FailureMessages(error).heading)
    let line = error.address ?? "# " + FailedList.oneLine(error.path ?? "")
    state.withLock { state in
      if heading != state.heading {
        state.heading = heading
        state.waiting += "# \(heading)\n"
      }
      state.waiting += line + "\n"
      if state.waiting.utf8.count >= FileDescriptor.blockSize { Self.flush(&state) }
    }
  }

  /// Copies what was spooled to the end of a file.
  /// - Throws: Errno of either file, also of earlier writes.
  func copy(to target: FileDescriptor) throws {
    try state.withLock { state in
      Self.flush(&state)
      if let failure = state.failure { throw failure }
      try state.file.seek(offset: 0, from: .start)
      while true {
        let block = try state.file.block()
        if block.isEmpty { break }
        try target.writeWhole(block)
      }
      try state.file.seek(offset: 0, from: .end)
    }
  }

  private static func flush(_ state: inout State) {
    do throws(Errno) { try state.file.writeWhole(state.waiting.utf8) } catch { state.failure = error }
    state.waiting = ""
  }
}

/// The failures as a list that `dlm get` can read again: addresses under comments that give the cause.
struct FailedList {
  let text: String

  init(_ report: RunReport) {
    var lines: [String] = []
    if report.failures.isEmpty, report.rejections.isEmpty { lines.append("# nothing failed") }
    lines += report.rejections.map { "# " + Self.oneLine(RejectionMessages($0).line) }
    for group in FailureGroup.groups(of: report.failures) {
      lines.append("# " + Self.oneLine(group.heading))
      // A failure without an address concerns a folder or file, so there is nothing to fetch again.
      lines += group.errors.map { $0.address ?? "# " + Self.oneLine($0.path ?? "") }
    }
    text = lines.joined(separator: "\n") + "\n"
  }

  static func oneLine(_ text: String) -> String {
    TerminalText.sanitized(text).replacing("\n", with: " ")
  }
}

/// Where `--failed` and `--summary-json` write: a file, which is replaced as a whole, or something that takes
/// a stream (a pipe, a terminal, `/dev/stdout`).
///
/// The list holds addresses as they must be fetched again, signatures and all, so the file is this user's
/// alone (0600).
enum FailedListFile {
  case file(FilePath)
  /// Opened by its name only when there is something to write, because opening a pipe waits for its reader.
  case stream(FilePath)
  /// One that this process has open: `/dev/stdout`, `/dev/fd/5` (a shell's `>(…)`). Its name is a link, which
  /// leads to what the caller opened.
  case descriptor(Int32)

  /// Checks the target before the run.
  /// - Throws: `ValidationError` for a folder, and for a link, which may lead to another user's file.
  init(_ path: String, option: String = "--failed") throws {
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
    case S_IFDIR: throw ValidationError(UsageMessages.isFolder(option, path))
    case S_IFLNK: throw ValidationError(UsageMessages.isLink(option, path))
    default: self = .stream(FilePath(path))
    }
  }

  /// As messages name it.
  var name: String {
    switch self {
    case .file(let path), .stream(let path): path.string
    case .descriptor(let number): UsageMessages.descriptor(number)
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

  /// What keeps a file from being written there now; nil if nothing does. It is found by trying, since a
  /// folder's rights are not all that counts, and leaves nothing behind.
  var obstacle: Errno? {
    guard case .file(let path) = self else { return nil }
    do throws(Errno) {
      _ = try DraftFile(for: path)
      return nil
    } catch {
      return error
    }
  }

  /// Writes the list of a run's failures, those that were only spooled included.
  /// - Throws: Errno of the file, or of the spool.
  func write(_ list: FailedList, more spool: FailureSpool?) throws { try write(list.text, more: spool) }

  /// Writes a text; a file is there as a whole or not at all.
  /// - Throws: as above.
  func write(_ text: String, more spool: FailureSpool? = nil) throws {
    switch self {
    case .file(let path):
      var draft = try DraftFile(for: path)
      try Self.write(text, spool, to: draft.descriptor)
      try draft.commit()
    case .stream(let path):
      let file = try FileDescriptor.open(path, .writeOnly, options: [.closeOnExec])
      try file.closeAfter { try Self.write(text, spool, to: file) }
    case .descriptor(let number):
      try Self.write(text, spool, to: FileDescriptor(rawValue: number))
    }
  }

  private static func write(_ text: String, _ spool: FailureSpool?, to file: FileDescriptor) throws {
    try file.writeWhole(text.utf8)
    try spool?.copy(to: file)
  }
}
