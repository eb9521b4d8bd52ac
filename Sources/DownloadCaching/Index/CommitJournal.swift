import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The rows of one batch, on disk before their files get their names. If dlm is killed before the batch is in
/// SQLite, the next run still recognises those files as dlm's own.
///
/// One file for each batch, `<pid>-<random>-<tag>.log`, locked while its process lives, made at the first
/// line and removed when the batch is in SQLite. The tag authenticates the rest of the name with the user's
/// secret (`UserSecret`): any other `.log` in the folder is foreign, and is neither read nor removed. A line
/// is one write(2). It is not synced: a line lost in a power cut costs one download, since a row counts only
/// if the file still is as the row says.
final class CommitJournal: Sendable {
  private let folder: Folder
  private let state = Mutex(State())

  private struct State: ~Copyable {
    var file = Descriptor.closed
    var name = ""
  }

  private static let suffix = ".log"
  /// No batch is nearly so long: a longer file is not a journal.
  private static let longest: Int64 = 1 << 26
  private let secret: UserSecret

  init(in folder: Folder, _ secret: UserSecret) {
    self.folder = folder
    self.secret = secret
  }

  private static func name(_ stem: some StringProtocol, _ secret: UserSecret) -> String {
    "\(stem)-\(secret.tag("journal", String(stem)))\(suffix)"
  }

  /// Whether a name is that of a journal of this user.
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
    // Between open and lock, another process that starts may have taken the journal for an abandoned one and
    // removed it.
    if state.file.lock(), try folder.identity(of: state.name)?.isSameFile(as: state.file.identity()) == true {
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
          .cache, cause: .errno(error.rawValue), path: folder.path + "/" + state.name,
          activity: "removing the journal")
      }
      state.file = .closed
    }
  }

  /// Passes the rows of each journal whose process has ended to `body`, under the journal's lock, and then
  /// removes the journal.
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

  /// - Returns: nil if its process lives, if another process adopts it or just did, or if the file is not
  ///   private to this user.
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

/// The rows in the journals of living processes, read as the journals grow: files that SQLite does not know
/// yet.
struct LivingJournals: Sendable {
  private struct Read: Sendable {
    /// Bytes read so far, of whole lines.
    var length: Int64 = 0
    var rows: [RowKey: CacheRow] = [:]
  }

  private var read: [String: Read] = [:]

  var rows: some Sequence<CacheRow> { read.values.lazy.flatMap { $0.rows.values } }

  subscript(key: RowKey) -> CacheRow? {
    read.values.compactMap { $0.rows[key] }.max { $0.fetchedAt < $1.fetchedAt }
  }

  /// Reads what was added. A journal that cannot be read or is gone gives no rows; then its files are asked
  /// about like any others.
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

/// A row as one line of a journal: its fields in a fixed order, separated by tabs. A line that a power cut
/// tore is no row. (JSON would cost ten times as much, on the thread that downloads.)
enum JournalLine {
  /// A line of another format is no row.
  private static let format = "2"
  private static let fieldCount = 22

  /// Ends in a line feed, which marks the line as whole.
  static func encode(_ row: CacheRow) -> [UInt8] {
    var line = Array(format.utf8)
    line.reserveCapacity(512)
    for text in [row.key.address, row.key.scope, row.key.directory, row.key.requested, row.name, row.wanted] {
      append(text, to: &line)
    }
    let identity = row.identity
    for number in [identity.device, identity.inode, identity.size, identity.modified] {
      append(String(number), to: &line)
    }
    append(row.validator.etag, to: &line)
    append(row.validator.lastModified, to: &line)
    append(row.validator.date, to: &line)
    append(String(row.fetchedAt), to: &line)
    append(row.freshness.cacheControl, to: &line)
    append(row.freshness.expires, to: &line)
    append(row.freshness.age, to: &line)
    append(row.freshness.vary, to: &line)
    append(row.effectiveURL, to: &line)
    append(row.digest, to: &line)
    append(row.selection, to: &line)
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// The rows of a journal, oldest first; lines that are no rows are left out.
  static func decode(_ journal: [UInt8]) -> [CacheRow] {
    // What follows the last line feed was not written completely.
    guard let end = journal.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    return journal[..<end].split(separator: UInt8(ascii: "\n")).compactMap { row($0) }
  }

  private static func row(_ line: ArraySlice<UInt8>) -> CacheRow? {
    let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { text($0) }
    guard fields.count == fieldCount, fields[0] == format, let address = fields[1], let scope = fields[2],
      let directory = fields[3], let requested = fields[4], let name = fields[5], let wanted = fields[6],
      let device = fields[7].flatMap({ Int64($0) }), let inode = fields[8].flatMap({ Int64($0) }),
      let size = fields[9].flatMap({ Int64($0) }), let modified = fields[10].flatMap({ Int64($0) }),
      let fetchedAt = fields[14].flatMap({ Int64($0) })
    else { return nil }
    return CacheRow(
      key: RowKey(address: address, scope: scope, directory: directory, requested: requested),
      name: name, wanted: wanted,
      identity: FileIdentity(device: device, inode: inode, size: size, modified: modified),
      validator: Validator(etag: fields[11], lastModified: fields[12], date: fields[13]),
      fetchedAt: fetchedAt,
      freshness: FreshnessFields(
        cacheControl: fields[15], expires: fields[16], age: fields[17], vary: fields[18]),
      effectiveURL: fields[19], selection: fields[21], digest: fields[20])
  }

  // MARK: Fields: `\t`, `\n` and `\\` are written as backslash and letter, nil as `\0`

  private static func append(_ text: String?, to line: inout [UInt8]) {
    line.append(UInt8(ascii: "\t"))
    guard var text else { return line.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "0")]) }
    text.withUTF8 { bytes in
      // Hardly any text has one. Without the look at all of it first, this was a twentieth of a small file's
      // work.
      guard bytes.contains(where: { letter(for: $0) != nil }) else { return line.append(contentsOf: bytes) }
      for byte in bytes {
        if let letter = letter(for: byte) {
          line.append(contentsOf: [UInt8(ascii: "\\"), letter])
        } else {
          line.append(byte)
        }
      }
    }
  }

  /// What stands behind a backslash for a byte that must not stand in a field; nil for any other.
  private static func letter(for byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "\t"): UInt8(ascii: "t")
    case UInt8(ascii: "\n"): UInt8(ascii: "n")
    case UInt8(ascii: "\\"): byte
    default: nil
    }
  }

  private static func text(_ field: ArraySlice<UInt8>) -> String? {
    guard field.contains(UInt8(ascii: "\\")) else { return String(decoding: field, as: UTF8.self) }
    if field.elementsEqual("\\0".utf8) { return nil }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in field {
      switch (isEscaped, byte) {
      case (false, UInt8(ascii: "\\")):
        isEscaped = true
        continue
      case (true, UInt8(ascii: "t")): bytes.append(UInt8(ascii: "\t"))
      case (true, UInt8(ascii: "n")): bytes.append(UInt8(ascii: "\n"))
      default: bytes.append(byte)
      }
      isEscaped = false
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
