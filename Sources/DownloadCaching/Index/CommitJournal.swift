import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The rows of one batch, on disk before their files get their names. If dlm is killed before the batch is in SQLite,
/// the next run still recognises those files as dlm's own.
///
/// One file for each batch, `<pid>-<random>-<tag>.log`, locked while its process lives, made at the first line and
/// removed when the batch is in SQLite. The tag authenticates the rest of the name with the user's secret
/// (`UserSecret`): any other `.log` in the folder is foreign, and is neither read nor removed.
///
///     file   │ line │ line │ … │ zeros, where further lines may stand │
///
/// The lines stand in memory that is the file's own (`LineMemory`): to write one takes no system call, it survives the
/// process all the same, and SQLite takes the rows from there. The file is not synced: a line lost in a power cut costs
/// one download, since a row counts only if the file still is as the row says.
final class CommitJournal: Sendable {
  private let folder: Folder
  private let state: Lock<State>

  private struct State: ~Copyable {
    var file = Descriptor.closed
    var name = ""
    var lines: LineMemory
    /// Whether the file could not be made, or not be made longer: further lines are in memory alone.
    var hasFailed = false
  }

  private static let suffix = ".log"
  /// No batch is nearly so long: a longer file is not a journal.
  static let longest: Int64 = 1 << 26
  private let secret: UserSecret
  private let claims: ProcessClaims?

  /// - Parameters:
  ///   - claims: where journals are counted, for other processes to see that there is one more.
  ///   - room: how many bytes its lines may come to: then it need not be made longer each time.
  init(in folder: Folder, _ secret: UserSecret, _ claims: ProcessClaims? = nil, room: Int = 0) {
    self.folder = folder
    self.secret = secret
    self.claims = claims
    state = Lock(State(lines: LineMemory(room: room)))
  }

  /// Whether a name is that of a journal of this user.
  static func isName(_ name: String, _ secret: UserSecret) -> Bool {
    name.utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
      && secret.isName("journal", String(decoding: name.utf8.dropLast(suffix.utf8.count), as: UTF8.self))
  }

  /// Adds the line of a row.
  /// - Parameter failed: called where the line is in memory only, and why.
  /// - Returns: where the line begins; nil if it is too long for a journal.
  @discardableResult
  func append(_ row: CacheRow, failed: (DownloadError) -> Void) -> Int? {
    state.withLock { state in
      do throws(Errno) {
        if !state.file.isOpen, !state.hasFailed { try open(&state) }
        return try append(row, &state)
      } catch {
        failed(failure(error, state.name))
        state.hasFailed = true
        return try? append(row, &state)
      }
    }
  }

  /// Notes in the line that was added last when its file has got its name.
  func note(_ changed: ChangeTime, failed: (DownloadError) -> Void) {
    state.withLock { state in
      let start = state.lines.rewrite(last: JournalLine.changeLength) { JournalLine.write(changed, into: $0) }
      guard !state.hasFailed else { return }
      do throws(Errno) { try state.lines.copy(from: start, to: state.file) } catch {
        failed(failure(error, state.name))
        state.hasFailed = true
      }
    }
  }

  private func failure(_ error: Errno, _ name: String) -> DownloadError {
    DownloadError(
      .cache, cause: .errno(error.rawValue), path: folder.path + "/" + name, activity: "writing the journal")
  }

  private func append(_ row: CacheRow, _ state: inout State) throws(Errno) -> Int {
    let none = Descriptor.closed
    var room = JournalLine.leastRoom
    while true {
      if state.hasFailed {
        try state.lines.makeRoom(for: room, in: none)
      } else {
        try state.lines.makeRoom(for: room, in: state.file)
      }
      if let start = state.lines.append({ JournalLine.write(row, into: $0) }) {
        if !state.hasFailed { try state.lines.copy(from: start, to: state.file) }
        return start
      }
      room *= 4
    }
  }

  /// The row whose line begins at a place.
  func row(at place: Int) -> CacheRow? {
    state.withLock { state in state.lines.withLine(at: place) { JournalLine.row($0) } }
  }

  /// How many bytes its lines have.
  var length: Int { state.withLock { $0.lines.count } }

  /// Hands the lines over, for their rows to be stored: nothing is to be appended any more.
  func takeLines() -> LineMemory {
    state.withLock { state in
      var lines = LineMemory(room: 0)
      swap(&lines, &state.lines)
      return lines
    }
  }

  private func open(_ state: inout State) throws(Errno) {
    while try !tryOpen(&state) {}
  }

  private func tryOpen(_ state: inout State) throws(Errno) -> Bool {
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    state.name = secret.name("journal", "\(getpid())-\(random)") + Self.suffix
    do throws(Errno) {
      state.file = try folder.open(state.name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
    } catch .fileExists { return false }
    // Between open and lock, another process that starts may have taken the journal for an abandoned one and removed
    // it.
    if state.file.lock(), try folder.identity(of: state.name)?.isSameFile(as: state.file.identity()) == true {
      claims?.countJournal()
      return true
    }
    state.file = .closed
    return false
  }

  /// The batch is in SQLite, so the journal is removed.
  func retire() throws(DownloadError) {
    try state.withLock { state throws(DownloadError) in
      guard state.file.isOpen else { return }
      do throws(Errno) { try folder.remove(state.name) } catch {
        throw DownloadError(
          .cache, cause: .errno(error.rawValue), path: folder.path + "/" + state.name, activity: "removing the journal")
      }
      state.file = .closed
    }
  }

  /// Passes the rows of each journal whose process has ended to `body`, under the journal's lock, and then removes the
  /// journal.
  /// - Throws: what `body` throws, or Errno; that journal stays for the next time.
  static func forEachAbandoned(
    in folder: Folder, _ secret: UserSecret, _ body: ([CacheRow]) throws -> Void
  ) throws {
    for name in try folder.names() where isName(name, secret) { try adopt(name, in: folder, body) }
  }

  private static func adopt(_ name: String, in folder: Folder, _ body: ([CacheRow]) throws -> Void) throws {
    guard let file = try openAbandoned(name, in: folder) else { return }
    try body(JournalLine.decode(try file.read(Int(file.identity().size))))
    try folder.remove(name)
    file.unlock()
  }

  /// - Returns: nil if its process lives, if another process adopts it or just did, or if the file is not private to
  ///   this user.
  private static func openAbandoned(_ name: String, in folder: Folder) throws(Errno) -> Descriptor? {
    do throws(Errno) {
      let file = try folder.open(name, O_RDONLY | O_NONBLOCK)
      guard try file.isOwn(closedTo: 0o077), try file.identity().size <= longest, file.lock(),
        try folder.identity(of: name)?.isSameFile(as: file.identity()) == true
      else {
        return nil
      }
      return file
    } catch {
      switch error {
      case .noSuchFileOrDirectory, .tooManySymbolicLinkLevels, .permissionDenied: return nil
      default: throw error
      }
    }
  }
}
