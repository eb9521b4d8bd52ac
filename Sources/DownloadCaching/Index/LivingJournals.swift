import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The rows in the journals of living processes, read as the journals grow: files that SQLite does not know yet. Shared
/// by all loops of a run.
///
/// While other processes are alive this is asked for each file, so it keeps the journals open, and reads only what was
/// added.
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
    /// How many journals had been made when the folder was looked at; nil before that, and where a journal could not be
    /// opened.
    var made: UInt64?
  }

  /// An open journal, where there are not too many of them.
  private final class OpenJournal: Sendable {
    let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
  }

  private struct Journal {
    var file: OpenJournal?
    /// How many bytes of it were read: whole lines.
    var length = 0
    /// By address, oldest first.
    var rows: [String: [CacheRow]] = [:]
  }

  /// So many are kept open, the rest is opened for each look: descriptors are for transfers.
  private static let openAtMost = 64

  init(in folder: Folder, _ secret: UserSecret) {
    self.folder = folder
    self.secret = secret
  }

  /// The row of a request; else the youngest of the same address, in whatever folder.
  /// - Parameter made: how many journals were ever made, read after the claim on the address was obtained; nil to look
  ///   at the folder in any case.
  func row(_ key: RowKey, made: UInt64?) -> CacheRow? {
    state.withLock { state in
      update(&state, made: made)
      var (own, like): ([CacheRow], [CacheRow]) = ([], [])
      for (name, journal) in state.journals {
        guard let rows = journal.rows[key.address] else { continue }
        // The rows of one that was removed meanwhile are in the database, or were forgotten.
        if let file = journal.file, (try? file.descriptor.linkCount()) != 1 {
          state.journals[name] = nil
          continue
        }
        own += rows.last { $0.key == key }.map { [$0] } ?? []
        like += rows.suffix(1)
      }
      return (own.isEmpty ? like : own).max { $0.fetchedAt < $1.fetchedAt }
    }
  }

  /// All rows, in no order; of a request whose file was committed more than once, several.
  func rows() -> [CacheRow] {
    state.withLock { state in
      update(&state, made: nil)
      return state.journals.values.flatMap { $0.rows.values.joined() }
    }
  }

  /// Reads what was added. A journal that cannot be read or is gone gives no rows; then its files are asked about like
  /// any others.
  private func update(_ state: inout State, made: UInt64?) {
    if made == nil || made != state.made { list(&state, made: made) }
    for name in Array(state.journals.keys) {
      let isThere =
        if let file = state.journals[name]?.file {
          Self.read(file.descriptor, into: &state.journals[name])
        } else if let file = try? open(name) {
          Self.read(file, into: &state.journals[name])
        } else {
          false
        }
      if !isThere { state.journals[name] = nil }
    }
  }

  private func list(_ state: inout State, made: UInt64?) {
    state.made = nil
    guard let names = try? folder.names() else { return }
    let found = names.filter { state.journals[$0] != nil || CommitJournal.isName($0, secret) }
    for name in Array(state.journals.keys) where !found.contains(name) { state.journals[name] = nil }
    var isWhole = true
    var count = state.journals.values.count { $0.file != nil }
    for name in found where state.journals[name] == nil {
      do throws(Errno) {
        guard let file = try open(name) else { continue }
        var journal = Journal()
        if count < Self.openAtMost { journal.file = OpenJournal(file) }
        state.journals[name] = journal
        count += 1
      } catch {
        // Gone already, or nothing of this user's; any other failure may pass.
        let isOther = [.noSuchFileOrDirectory, .tooManySymbolicLinkLevels, .permissionDenied].contains(error)
        isWhole = isWhole && isOther
      }
    }
    if isWhole { state.made = made }
  }

  /// - Returns: nil for what is not this user's.
  private func open(_ name: String) throws(Errno) -> Descriptor? {
    let file = try folder.open(name, O_RDONLY | O_NONBLOCK)
    guard try file.isOwn(closedTo: 0o077) else { return nil }
    return file
  }

  /// What is read at first: nearly always, nothing was added since the last look.
  private static let firstRead = 512

  /// - Returns: false if the journal cannot be read.
  private static func read(_ file: borrowing Descriptor, into journal: inout Journal?) -> Bool {
    var length = firstRead
    while let start = journal?.length, start + length <= CommitJournal.longest {
      guard let bytes = try? file.read(length, at: Int64(start)) else { return false }
      // Zeros are where no line stands yet, or not all of it.
      let added = bytes.prefix { $0 != 0 }
      if added.count == length {
        length *= 4
        continue
      }
      guard let end = added.lastIndex(of: UInt8(ascii: "\n")) else { return true }
      journal?.length += end + 1
      for row in JournalLine.decode(bytes) { journal?.rows[row.key.address, default: []].append(row) }
      return true
    }
    return false
  }
}
