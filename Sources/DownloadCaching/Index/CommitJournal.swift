import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The rows of one batch, on disk before their files get their names: whoever kills dlm before the batch
/// reached SQLite leaves files that the next run still knows as its own.
///
/// One file a batch, `<pid>-<random>.log`, locked while its process lives, made at the first line and removed
/// when the batch is in SQLite. A line is one write(2). It is not forced to the platter: after a power cut a
/// lost line costs one download, since a file is believed only if it is as its row says.
final class CommitJournal: Sendable {
  private let folder: Folder
  private let state = Mutex(State())

  private struct State: ~Copyable {
    var file = Descriptor.closed
    var name = ""
  }

  static let suffix = ".log"

  init(in folder: Folder) { self.folder = folder }

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
    let random = String(UInt32.random(in: .min ... .max), radix: 36)
    state.name = "\(getpid())-\(random)\(Self.suffix)"
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
  static func forEachAbandoned(in folder: Folder, _ body: ([CacheRow]) throws -> Void) throws {
    for name in try folder.names() where name.hasSuffix(suffix) { try adopt(name, in: folder, body) }
  }

  private static func adopt(_ name: String, in folder: Folder, _ body: ([CacheRow]) throws -> Void) throws {
    guard let file = try openAbandoned(name, in: folder) else { return }
    try body(JournalLine.decode(try file.read(Int(file.identity().size))))
    try folder.remove(name)
    file.unlock()
  }

  /// - Returns: nil if its process lives, or if another one adopts it or just did.
  private static func openAbandoned(_ name: String, in folder: Folder) throws(Errno) -> Descriptor? {
    do throws(Errno) {
      let file = try folder.open(name, O_RDONLY | O_NONBLOCK)
      guard file.lock(), try folder.identity(of: name)?.isSameFile(as: file.identity()) == true else {
        return nil
      }
      return file
    } catch .noSuchFileOrDirectory { return nil }
  }
}
