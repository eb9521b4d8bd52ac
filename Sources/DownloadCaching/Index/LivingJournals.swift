import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The rows in the journals of living processes, read as the journals grow: files that SQLite does not know
/// yet. Shared by all loops of a run.
///
/// While other processes are alive this is asked for each file, so it keeps the journals open, reads only
/// what was added, and makes a row of a line only when that row is asked for.
///
/// **What it promises**: a row that another process committed before this one obtained its claim on the same
/// address is found here, or has reached the database by the time that this has answered. The claims order
/// the two (`ProcessClaims`). The other process has made its journal, counted it in the claims' memory,
/// written the line, and given the file its name before it frees its claim; this one obtains the claim, and
/// then reads the count. So either the count is what it was at the last look at the folder, and the journal
/// is one of those that are open here, in which its line is read; or it is another, and the
/// folder is looked at again. A journal is removed only when its rows are in the database, which is therefore
/// asked after this.
final class LivingJournals: Sendable {
  private let folder: Folder
  private let secret: UserSecret
  private let state = Mutex(State())

  private struct State {
    var journals: [String: Journal] = [:]
    /// How many journals had been made when the folder was looked at; nil before that, and where a journal
    /// could not be opened.
    var made: UInt64?
  }

  /// An open journal, where there are not too many of them.
  private final class OpenJournal: Sendable {
    let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
  }

  private struct Journal {
    var file: OpenJournal?
    var lines = JournalLines()
  }

  /// So many are kept open, the rest is opened for each look: descriptors are for transfers.
  private static let openAtMost = 64

  init(in folder: Folder, _ secret: UserSecret) {
    self.folder = folder
    self.secret = secret
  }

  /// The row of a request; else the youngest of the same address, in whatever folder.
  /// - Parameter made: how many journals were ever made, read after the claim on the address was obtained;
  ///   nil to look at the folder in any case.
  func row(_ key: RowKey, made: UInt64?) -> CacheRow? {
    let wanted = JournalLines.Key(key)
    return state.withLock { state in
      update(&state, made: made)
      return Self.youngest(Self.found(in: &state) { $0.own(wanted) })
        ?? Self.youngest(Self.found(in: &state) { $0.like(wanted) })
    }
  }

  /// The lines that are found in the journals. One that was removed meanwhile is dropped: its rows are in the
  /// database, or were forgotten.
  private static func found(
    in state: inout State, _ find: (JournalLines) -> ArraySlice<UInt8>?
  ) -> [ArraySlice<UInt8>] {
    var found: [ArraySlice<UInt8>] = []
    for (name, journal) in state.journals {
      guard let line = find(journal.lines) else { continue }
      if let file = journal.file, (try? file.descriptor.linkCount()) != 1 {
        state.journals[name] = nil
      } else {
        found.append(line)
      }
    }
    return found
  }

  private static func youngest(_ lines: [ArraySlice<UInt8>]) -> CacheRow? {
    if lines.count == 1 { return JournalLine.decode(Array(lines[0])).first }
    return lines.compactMap { JournalLine.decode(Array($0)).first }.max { $0.fetchedAt < $1.fetchedAt }
  }

  /// All rows, in no order; of a request whose file was committed more than once, several.
  func rows() -> [CacheRow] {
    state.withLock { state in
      update(&state, made: nil)
      return state.journals.values.flatMap { JournalLine.decode($0.lines.bytes) }
    }
  }

  /// Reads what was added. A journal that cannot be read or is gone gives no rows; then its files are asked
  /// about like any others.
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
    guard var lines = journal?.lines else { return false }
    // Else the addition would copy what is there.
    journal?.lines = JournalLines()
    defer { journal?.lines = lines }
    var length = firstRead
    while lines.bytes.count <= CommitJournal.longest {
      guard let added = try? file.read(length, at: Int64(lines.bytes.count)) else { return false }
      // Zeros are where no line stands yet, or not all of it.
      lines.add(added.prefix { $0 != 0 })
      if added.count < length || added.last == 0 { return true }
      length *= 4
    }
    return false
  }
}

/// The whole lines of a journal, found by the addresses of their rows.
struct JournalLines {
  /// How a request's lines begin.
  struct Key {
    /// With folder and name.
    fileprivate let whole: [UInt8]
    /// Without them.
    fileprivate let part: ArraySlice<UInt8>
    fileprivate let hash: UInt64

    init(_ key: RowKey) {
      whole = JournalLine.start(of: key)
      part = JournalLines.part(of: whole[...])
      hash = Hash.of(part)
    }
  }

  private(set) var bytes: [UInt8] = []
  private var starts: [Int] = []
  /// Of each line, the last one before it with the same hash; -1 for none.
  private var previous: [Int] = []
  private var last: [UInt64: Int] = [:]

  /// Adds what was appended to the journal, up to the last line that is whole.
  mutating func add(_ added: ArraySlice<UInt8>) {
    guard let end = added.lastIndex(of: UInt8(ascii: "\n")) else { return }
    var start = bytes.count
    bytes.append(contentsOf: added[...end])
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      let hash = Hash.of(Self.part(of: bytes[start..<end]))
      previous.append(last.updateValue(starts.count, forKey: hash) ?? -1)
      starts.append(start)
      start = end + 1
    }
  }

  /// Format and address: up to the second tab, with it.
  fileprivate static func part(of line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var tabs = 0
    for index in line.indices where line[index] == UInt8(ascii: "\t") {
      tabs += 1
      if tabs == 2 { return line[...index] }
    }
    return line
  }

  /// The last line of a request.
  func own(_ key: Key) -> ArraySlice<UInt8>? { find(key, key.whole[...]) }

  /// The last line of an address.
  func like(_ key: Key) -> ArraySlice<UInt8>? { find(key, key.part) }

  private func find(_ key: Key, _ start: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var number = last[key.hash] ?? -1
    while number >= 0 {
      let line = bytes[starts[number]..<(number + 1 < starts.count ? starts[number + 1] : bytes.count)]
      if line.starts(with: start) { return line }
      number = previous[number]
    }
    return nil
  }
}
