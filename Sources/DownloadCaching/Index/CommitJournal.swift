import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage

/// The rows of one batch, on disk before their files get their names: if dlm is killed before the batch is in SQLite,
/// the next run still recognises those files as dlm's own.
///
/// One file for each batch, `<pid>-<random>-<tag>.log`, made at the first line, locked while its process lives, and
/// removed when the batch is in SQLite. Its tag proves it this user's (`UserSecret`): no other is touched.
///
/// Lines are written to memory that is the file's own (`LineMemory`): without a system call, and they survive the
/// process. The file is not synced: a line lost in a power cut costs one download.
final class CommitJournal: Sendable {
  private let folder: Folder
  private let secret: UserSecret
  private let claims: ProcessClaims?
  private let state: Lock<State>

  private struct State: ~Copyable {
    /// Closed before the first line, and after a failure.
    var file = Descriptor.closed
    var name = ""
    var lines: LineMemory
    var failure: DownloadError?
  }

  private static let suffix = ".log"
  /// No batch is nearly so long: a longer file is not a journal.
  static let longest: Int64 = 1 << 26

  /// `claims` counts journals for other processes. `room` is how many bytes the lines may come to.
  init(in folder: Folder, _ secret: UserSecret, _ claims: ProcessClaims? = nil, room: Int = 0) {
    self.folder = folder
    self.secret = secret
    self.claims = claims
    state = Lock(State(lines: LineMemory(room: room)))
  }

  static func isName(_ name: String, _ secret: UserSecret) -> Bool {
    name.hasSuffix(suffix) && secret.isName("journal", String(name.dropLast(suffix.count)))
  }

  /// Adds the line of a row. Returns where it begins; nil if it is too long for a journal.
  @discardableResult
  func append(_ row: CacheRow) -> Int? {
    state.withLock { state in
      do throws(Errno) {
        if state.name.isEmpty { try open(&state) }
        return try Self.append(row, &state)
      } catch {
        state.failure =
          state.failure ?? DownloadError(.cache, error, folder.path + "/" + state.name, "writing the journal")
        state.file = .closed
        return try? Self.append(row, &state)
      }
    }
  }

  private static func append(_ row: CacheRow, _ state: inout State) throws(Errno) -> Int {
    while true {
      if let place = state.lines.append({ JournalLine.write(row, into: $0) }) { return place }
      try state.lines.makeRoom(in: state.file)
    }
  }

  /// Notes in the line that was added last, at `place`, when its file got its name.
  func note(_ changed: ChangeTime, at place: Int) {
    state.withLock { state in state.lines.rewrite(from: place) { JournalLine.write(changed, into: $0) } }
  }

  /// Why lines are in memory alone, so that the next run would not know their files after a SIGKILL.
  var failure: DownloadError? { state.withLock { $0.failure } }

  func row(at place: Int) -> CacheRow? { state.withLock { JournalLine(startOf: $0.lines.bytes(from: place))?.row } }

  var length: Int { state.withLock { $0.lines.count } }

  /// Calls `body` with the lines that begin at these places. Nothing is to be appended any more.
  func forEachLine<Failure>(at places: [Int], _ body: (JournalLine) throws(Failure) -> Void) throws(Failure) {
    try state.withLock { state throws(Failure) in
      for place in places {
        if let line = JournalLine(startOf: state.lines.bytes(from: place)) { try body(line) }
      }
    }
  }

  private func open(_ state: inout State) throws(Errno) {
    while true {
      state.name = secret.freshName("journal") + Self.suffix
      do {
        state.file = try folder.open(state.name, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
      } catch .fileExists { continue }
      // Before it was locked, a process that starts may have taken it for an abandoned one and removed it.
      if state.file.lock(), try folder.has(state.file, as: state.name) {
        claims?.countJournal()
        return
      }
    }
  }

  func retire() throws(DownloadError) {
    try state.withLock { state throws(DownloadError) in
      guard !state.name.isEmpty else { return }
      do throws(Errno) { try folder.remove(state.name) } catch {
        throw DownloadError(.cache, error, folder.path + "/" + state.name, "removing the journal")
      }
      state.file = .closed
    }
  }

  // MARK: Those of processes that have ended

  /// Passes the bytes of each journal whose process has ended to `body`, under its lock, and then removes it.
  /// - Throws: what `body` throws, or Errno; that journal stays for the next time.
  static func forEachAbandoned(in folder: Folder, _ secret: UserSecret, _ body: ([UInt8]) throws -> Void) throws {
    for name in try folder.names() where isName(name, secret) {
      // Locked where its process lives, or another process adopts it.
      guard let file = try folder.openOwn(name, closedTo: 0o077), try file.identity().size <= longest, file.lock(),
        try folder.has(file, as: name)
      else { continue }
      try body(try file.read(Int(file.identity().size)))
      try folder.remove(name)
      file.unlock()
    }
  }
}
