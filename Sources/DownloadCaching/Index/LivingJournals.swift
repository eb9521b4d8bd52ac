import DownloadModel
import FileReceiving
import Synchronization
import SystemPackage

/// The rows in the journals of living processes: files that SQLite does not know yet. Shared by all loops of a run.
/// Beside other processes it is asked for each file, so it keeps the journals open, and reads only what was added.
///
/// **What it promises**: a row that another process committed before this one obtained its claim on the same address is
/// found here, or has reached the database by the time that this has answered. The claims order the two
/// (`ProcessClaims`). The other process has made its journal, counted it in the claims' memory, written the line, and
/// given the file its name before it frees its claim; this one obtains the claim, and then reads the count. So either
/// the count is what it was at the last look at the folder, and the journal is one of those that are open here, in
/// which its line is read; or it is another, and the folder is looked at again. A journal is removed only when its rows
/// are in the database, which is therefore asked after this.
final class LivingJournals: Sendable {
  private let folder: Folder
  private let secret: UserSecret
  private let state = Lock(State())

  private struct State {
    var journals: [String: Journal] = [:]
    /// How many journals had been made when the folder was looked at; nil unless all could be opened.
    var made: UInt64?
  }

  private final class OpenFile: Sendable {
    let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
  }

  private struct Journal {
    let file: OpenFile
    /// How many bytes of it were read: whole lines.
    var length = 0
    /// By address, oldest first.
    var rows: [String: [CacheRow]] = [:]

    /// At first reads only a little: nearly always it is nothing, or one line. Returns false for an unreadable journal.
    mutating func readOn() -> Bool {
      var room = 512
      while length + room <= CommitJournal.longest {
        guard let bytes = try? file.descriptor.read(room, at: Int64(length)) else { return false }
        let isAll = bytes.withUnsafeBytes { bytes in
          var rest = bytes
          while let line = JournalLine(startOf: rest) {
            if let row = line.row { rows[row.key.address, default: []].append(row) }
            rest = UnsafeRawBufferPointer(rebasing: rest[line.bytes.count...])
          }
          length += bytes.count - rest.count
          // Where no line begins, or one of which not all is written yet.
          return bytes.count < room || rest.count >= 16 && JournalLine.length(rest) <= rest.count
        }
        if isAll { return true }
        room *= 4
      }
      return false
    }
  }

  init(in folder: Folder, _ secret: UserSecret) {
    self.folder = folder
    self.secret = secret
  }

  /// The row of a request; else the youngest of the same address, in whatever folder.
  /// - Parameter made: how many journals were ever made, read under the claim; nil to list the folder anyway.
  func row(_ key: RowKey, named name: String, made: UInt64?) -> CacheRow? {
    state.withLock { state in
      update(&state, made: made)
      var (own, like): ([CacheRow], [CacheRow]) = ([], [])
      for (name, journal) in state.journals {
        guard let rows = journal.rows[key.address] else { continue }
        // If it was removed, its rows are in the database, or were forgotten.
        if (try? journal.file.descriptor.linkCount()) != 1 {
          state.journals[name] = nil
          continue
        }
        own += rows.filter { $0.isFile(named: name, of: key) }.suffix(1)
        like += rows.suffix(1)
      }
      return (own.isEmpty ? like : own).max { $0.fetchedAt < $1.fetchedAt }
    }
  }

  /// All rows; several of a request whose file was committed more than once.
  func rows() -> [CacheRow] {
    state.withLock { state in
      update(&state, made: nil)
      return state.journals.values.flatMap { $0.rows.values.joined() }
    }
  }

  /// A journal that cannot be read gives no rows; then its files are asked about like any others.
  private func update(_ state: inout State, made: UInt64?) {
    if made == nil || made != state.made { list(&state, made: made) }
    for name in Array(state.journals.keys) where state.journals[name]?.readOn() != true { state.journals[name] = nil }
  }

  private func list(_ state: inout State, made: UInt64?) {
    state.made = nil
    guard let names = try? folder.names() else { return }
    let found = names.filter { state.journals[$0] != nil || CommitJournal.isName($0, secret) }
    for name in Array(state.journals.keys) where !found.contains(name) { state.journals[name] = nil }
    var isWhole = true
    for name in found where state.journals[name] == nil {
      do {
        guard let file = try folder.openOwn(name, closedTo: 0o077) else { continue }
        state.journals[name] = Journal(file: OpenFile(file))
      } catch {
        // It may pass.
        isWhole = false
      }
    }
    if isWhole { state.made = made }
  }
}
