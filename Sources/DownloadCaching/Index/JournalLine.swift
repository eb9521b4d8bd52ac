import DownloadModel

/// A row as one line of a journal: its fields in a fixed order between tabs. A line that was torn by a power
/// cut is no row. (JSON would cost ten times as much, on the thread that downloads.)
enum JournalLine {
  /// A line of another format is no row.
  private static let format = "2"
  private static let fieldCount = 22

  /// With the line feed that says that the line is whole.
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
    append(row.answeredBy, to: &line)
    append(row.digest, to: &line)
    append(row.selection, to: &line)
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// The rows of a journal, oldest first; lines that are none are left out.
  static func decode(_ journal: [UInt8]) -> [CacheRow] {
    // What follows the last line feed was not written to its end.
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
      answeredBy: fields[19], selection: fields[21], digest: fields[20])
  }

  // MARK: Fields: `\t`, `\n` and `\\` are written as backslash and letter, nil as `\0`

  private static func append(_ text: String?, to line: inout [UInt8]) {
    line.append(UInt8(ascii: "\t"))
    guard let text else { return line.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "0")]) }
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\t"): line.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "t")])
      case UInt8(ascii: "\n"): line.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
      case UInt8(ascii: "\\"): line.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "\\")])
      default: line.append(byte)
      }
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
