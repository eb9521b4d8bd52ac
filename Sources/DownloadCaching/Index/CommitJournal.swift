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
  static let longest: Int64 = 1 << 26
  private let secret: UserSecret
  private let claims: ProcessClaims?

  /// - Parameter claims: where journals are counted, for other processes to see that there is one more.
  init(in folder: Folder, _ secret: UserSecret, _ claims: ProcessClaims? = nil) {
    self.folder = folder
    self.secret = secret
    self.claims = claims
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

/// A row as one line of a journal: its fields in a fixed order, separated by tabs. A line that a power cut
/// tore is no row. (JSON would cost ten times as much, on the thread that downloads.)
enum JournalLine {
  /// A line of another format is no row.
  private static let format = "3"
  private static let fieldCount = 24

  /// Ends in a line feed, which marks the line as whole.
  static func encode(_ row: CacheRow) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: longest(row)) { bytes, count in
      var line = Writer(bytes: bytes)
      line.append(row)
      count = line.count
    }
  }

  /// How long the row's line can be: with a number of twenty digits and a sign, or two bytes for each byte of
  /// a text, in each field.
  private static func longest(_ row: CacheRow) -> Int {
    let (validator, freshness) = (row.validator, row.freshness)
    var texts = row.name.utf8.count + row.wanted.utf8.count
    texts += count(validator.etag) + count(validator.lastModified) + count(validator.date)
    texts += count(freshness.cacheControl) + count(freshness.expires) + count(freshness.age)
    texts += count(freshness.vary) + count(row.effectiveURL) + count(row.digest) + count(row.selection)
    return longest(row.key) + texts * 2 + fieldCount * 22
  }

  private static func longest(_ key: RowKey) -> Int {
    var texts = key.address.utf8.count + key.scope.utf8.count
    texts += key.directory.utf8.count + key.requested.utf8.count
    return texts * 2 + 16
  }

  private static func count(_ text: String?) -> Int { text?.utf8.count ?? 0 }

  /// Fields: `\t`, `\n` and `\\` are written as backslash and letter, nil as `\0`.
  private struct Writer {
    let bytes: UnsafeMutableBufferPointer<UInt8>
    var count = 0

    init(bytes: UnsafeMutableBufferPointer<UInt8>) { self.bytes = bytes }

    mutating func append(_ row: CacheRow) {
      let (identity, validator, freshness) = (row.identity, row.validator, row.freshness)
      begin(row.key)
      append(row.name)
      append(row.wanted)
      append(identity.device)
      append(identity.inode)
      append(identity.size)
      append(identity.modified)
      append(validator.etag)
      append(validator.lastModified)
      append(validator.date)
      append(row.fetchedAt)
      append(freshness.cacheControl)
      append(freshness.expires)
      append(freshness.age)
      append(freshness.vary)
      append(row.effectiveURL)
      append(row.digest)
      append(row.selection)
      append(row.usedAt)
      if let status = row.status { append(Int64(status)) } else { appendNothing() }
      append(UInt8(ascii: "\n"))
    }

    mutating func begin(_ key: RowKey) {
      for byte in JournalLine.format.utf8 { append(byte) }
      append(key.address)
      append(key.scope)
      append(key.directory)
      append(key.requested)
    }

    mutating func append(_ byte: UInt8) {
      bytes[count] = byte
      count += 1
    }

    private mutating func append(_ text: String?) {
      if let text { append(text) } else { appendNothing() }
    }

    private mutating func appendNothing() {
      append(UInt8(ascii: "\t"))
      append(UInt8(ascii: "\\"))
      append(UInt8(ascii: "0"))
    }

    private mutating func append(_ text: String) {
      append(UInt8(ascii: "\t"))
      var text = text
      text.withUTF8 { text in
        // Hardly any text has one.
        if !JournalLine.hasSpecial(UnsafeRawBufferPointer(text)) {
          UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(bytes)[count...]).copyMemory(
            from: UnsafeRawBufferPointer(text))
          count += text.count
        } else {
          for byte in text { appendEscaped(byte) }
        }
      }
    }

    private mutating func appendEscaped(_ byte: UInt8) {
      switch byte {
      case UInt8(ascii: "\t"): appendAfterBackslash(UInt8(ascii: "t"))
      case UInt8(ascii: "\n"): appendAfterBackslash(UInt8(ascii: "n"))
      case UInt8(ascii: "\\"): appendAfterBackslash(byte)
      default: append(byte)
      }
    }

    private mutating func appendAfterBackslash(_ letter: UInt8) {
      append(UInt8(ascii: "\\"))
      append(letter)
    }

    /// In decimal digits, without a text of its own for each number.
    private mutating func append(_ number: Int64) {
      append(UInt8(ascii: "\t"))
      if number < 0 { append(UInt8(ascii: "-")) }
      var digits = 1
      var rest = number.magnitude
      while rest >= 10 {
        rest /= 10
        digits += 1
      }
      rest = number.magnitude
      for place in (count..<count + digits).reversed() {
        let shorter = rest / 10
        bytes[place] = UInt8(truncatingIfNeeded: rest &- shorter &* 10) | UInt8(ascii: "0")
        rest = shorter
      }
      count += digits
    }
  }

  /// Whether a text has a byte that must not stand in a field as it is; perhaps also for another control
  /// character. Eight bytes at a time: one by one, this was a twentieth of a small file's work.
  private static func hasSpecial(_ text: UnsafeRawBufferPointer) -> Bool {
    let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    let backslashes = ones &* UInt64(UInt8(ascii: "\\"))
    var start = 0
    while start + 8 <= text.count {
      let word = text.loadUnaligned(fromByteOffset: start, as: UInt64.self)
      let other = word ^ backslashes
      // A byte below 32, or one that is zero (Hacker's Delight, "Find First 0-Byte").
      let found = ((word &- ones &* 0x20) & ~word) | ((other &- ones) & ~other)
      if found & highs != 0 { return true }
      start += 8
    }
    return text[start...].contains { $0 < 0x20 || $0 == UInt8(ascii: "\\") }
  }

  /// How the line of a row with this key begins, up to what follows the key.
  static func start(of key: RowKey) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: longest(key)) { bytes, count in
      var line = Writer(bytes: bytes)
      line.begin(key)
      line.append(UInt8(ascii: "\t"))
      count = line.count
    }
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
      let fetchedAt = fields[14].flatMap({ Int64($0) }), let usedAt = fields[22].flatMap({ Int64($0) })
    else { return nil }
    return CacheRow(
      key: RowKey(address: address, scope: scope, directory: directory, requested: requested),
      name: name, wanted: wanted,
      identity: FileIdentity(device: device, inode: inode, size: size, modified: modified),
      validator: Validator(etag: fields[11], lastModified: fields[12], date: fields[13]),
      fetchedAt: fetchedAt, usedAt: usedAt, status: fields[23].flatMap { Int($0) },
      freshness: FreshnessFields(
        cacheControl: fields[15], expires: fields[16], age: fields[17], vary: fields[18]),
      effectiveURL: fields[19], selection: fields[21], digest: fields[20])
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
