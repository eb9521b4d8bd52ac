import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The rows of one batch, on disk before their files get their names: whoever kills dlm before the batch
/// reached SQLite leaves files that the next run still knows as its own.
///
/// One file a batch, `<pid>-<random>-<tag>.log`, locked while its process lives, made at the first line and removed
/// when the batch is in SQLite. The tag is what only this user's dlm can say of the rest of the name (`UserSecret`): any
/// other `.log` in the folder is somebody else's, and is neither read nor removed. A line is one write(2). It is not forced to the platter: after a power cut a
/// lost line costs one download, since a file is believed only if it is as its row says.
final class CommitJournal: Sendable {
  private let folder: Folder
  private let state = Mutex(State())

  private struct State: ~Copyable {
    var file = Descriptor.closed
    var name = ""
  }

  private static let suffix = ".log"
  /// No batch comes near: whatever is longer is none.
  private static let longest: Int64 = 1 << 26
  private let secret: UserSecret

  init(in folder: Folder, _ secret: UserSecret) {
    self.folder = folder
    self.secret = secret
  }

  private static func name(_ stem: some StringProtocol, _ secret: UserSecret) -> String {
    "\(stem)-\(secret.tag("journal", String(stem)))\(suffix)"
  }

  /// Whether a name is that of a journal of this user's.
  static func isName(_ name: String, _ secret: UserSecret) -> Bool {
    let bytes = name.utf8
    guard bytes.reversed().starts(with: suffix.utf8.reversed()),
      let dash = bytes.lastIndex(of: UInt8(ascii: "-"))
    else { return false }
    return name == Self.name(name[..<dash], secret)
  }

  func append(_ row: CacheRow) throws(DownloadError) {
    let line = JournalLine.encode(row)
    try state.withLock { state throws(DownloadError) in
      do throws(Errno) {
        if !state.file.isOpen { try open(&state) }
        try state.file.append(line)
      } catch {
        throw DownloadError(
          .cache, cause: .errno(error.rawValue), path: folder.path + "/" + state.name,
          activity: "writing the journal")
      }
    }
  }

  private func open(_ state: inout State) throws(Errno) {
    while try !tryOpen(&state) {}
  }

  private func tryOpen(_ state: inout State) throws(Errno) -> Bool {
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    state.name = Self.name("\(getpid())-\(random)", secret)
    do throws(Errno) {
      state.file = try folder.open(state.name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, mode: 0o600)
    } catch .fileExists { return false }
    // Between open and lock a process that starts may have taken it for a dead one's, and removed it.
    if state.file.lock(), try folder.identity(of: state.name)?.isSameFile(as: state.file.identity()) == true {
      return true
    }
    state.file = .closed
    return false
  }

  /// The batch is in SQLite: the file has served.
  func retire() throws(DownloadError) {
    try state.withLock { state throws(DownloadError) in
      guard state.file.isOpen else { return }
      do throws(Errno) { try folder.remove(state.name) } catch {
        throw DownloadError(
          .cache, cause: .errno(error.rawValue), path: folder.path + "/" + state.name,
          activity: "removing the journal")
      }
      state.file = .closed
    }
  }

  /// The journals of processes that are gone, each handed to `body` under its lock and removed afterwards.
  /// - Throws: what `body` throws, or Errno; that journal stays for another time.
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

  /// - Returns: nil if its process lives, if another one adopts it or just did, or if it is no file of this user alone.
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

/// What stands in the journals of processes that are at work, read as it grows: rows of files that SQLite does not know yet.
struct LivingJournals: Sendable {
  private struct Read: Sendable {
    /// Bytes of whole lines.
    var length: Int64 = 0
    var rows: [RowKey: CacheRow] = [:]
  }

  private var read: [String: Read] = [:]

  var rows: some Sequence<CacheRow> { read.values.lazy.flatMap { $0.rows.values } }

  subscript(key: RowKey) -> CacheRow? {
    read.values.compactMap { $0.rows[key] }.max { $0.fetchedAt < $1.fetchedAt }
  }

  /// A journal that cannot be read, or that is gone by now, says nothing; then its files are asked about as any others.
  mutating func update(in folder: Folder, _ secret: UserSecret) {
    let known = read
    let names = ((try? folder.names()) ?? []).filter { known[$0] != nil || CommitJournal.isName($0, secret) }
    for name in known.keys where !names.contains(name) { read[name] = nil }
    for name in names {
      guard let file = try? folder.open(name, O_RDONLY | O_NONBLOCK),
        (try? file.isOwn(closedTo: 0o077)) == true,
        let size = try? file.identity().size
      else { continue }
      var known = read[name] ?? Read()
      guard size > known.length, let bytes = try? file.read(Int(size - known.length), at: known.length),
        let end = bytes.lastIndex(of: UInt8(ascii: "\n"))
      else { continue }
      known.length += Int64(end + 1)
      for row in JournalLine.decode(bytes) { known.rows[row.key] = row }
      read[name] = known
    }
  }
}
