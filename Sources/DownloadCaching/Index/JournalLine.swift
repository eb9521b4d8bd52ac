import DownloadModel
import Synchronization

/// A row as one line of a journal: its fields in a fixed order, separated by tabs. A line that a power cut tore is no
/// row. (JSON would cost ten times as much, on the thread that downloads.)
enum JournalLine {
  /// A line of another format is no row.
  private static let format = "1"
  /// Length of the last field, which is written over when the file has its name.
  static let changeLength = 20

  static func encode(_ row: CacheRow) -> [UInt8] {
    var (room, length) = (leastRoom, nil as Int?)
    while true {
      let line = [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
        length = write(row, into: UnsafeMutableRawBufferPointer(bytes))
        count = length ?? 0
      }
      if length != nil { return line }
      room *= 4
    }
  }

  /// Nearly every line has room in so many bytes.
  static let leastRoom = 2048

  /// Writes the line of a row; its line feed, which marks it as whole, after everything else, also for other processes
  /// that see this memory.
  /// - Returns: how long it is; nil if there may be too few bytes.
  static func write(_ row: CacheRow, into bytes: UnsafeMutableRawBufferPointer) -> Int? {
    var line = Writer(bytes: bytes)
    line.append(row)
    guard line.hasRoom else { return nil }
    line.end()
    return line.count
  }

  /// Writes the last field of a line anew.
  /// - Parameter bytes: `changeLength` of them.
  static func write(_ changed: ChangeTime, into bytes: UnsafeMutableRawBufferPointer) {
    var field = Writer(bytes: bytes)
    field.append(changed)
  }

  /// How long a line can be but for its texts: twenty digits and a sign for each field, or nothing, and tabs.
  private static let longestWithoutTexts = (RowColumn.changed.rawValue + 2) * 22

  /// Fields: `\t`, `\n` and `\\` are written as backslash and letter, nil as `\0`.
  private struct Writer {
    let bytes: UnsafeMutableRawBufferPointer
    var count = 0
    var hasRoom = true

    init(bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

    mutating func append(_ row: CacheRow) {
      for byte in JournalLine.format.utf8 { append(byte) }
      for column in RowColumn.all.dropLast() where hasRoom {
        switch row.value(column) {
        case .text(let text?): append(text)
        case .number(let number?): append(number)
        case .text(nil), .number(nil): appendNothing()
        }
      }
      guard hasRoom else { return }
      append(UInt8(ascii: "\t"))
      append(row.changed)
    }

    /// As nineteen digits behind a sign, or behind a zero.
    mutating func append(_ changed: ChangeTime) {
      append(UInt8(ascii: changed.number < 0 ? "-" : "0"))
      var rest = changed.number.magnitude
      for place in (count..<(count + JournalLine.changeLength - 1)).reversed() {
        bytes[place] = UInt8(truncatingIfNeeded: rest % 10) | UInt8(ascii: "0")
        rest /= 10
      }
      count += JournalLine.changeLength - 1
    }

    mutating func end() {
      let end = bytes.baseAddress.map { ($0 + count).bindMemory(to: Atomic<UInt8>.self, capacity: 1) }
      end?.pointee.store(UInt8(ascii: "\n"), ordering: .releasing)
      count += 1
    }

    mutating func append(_ byte: UInt8) {
      bytes[count] = byte
      count += 1
    }

    private mutating func appendNothing() {
      append(UInt8(ascii: "\t"))
      append(UInt8(ascii: "\\"))
      append(UInt8(ascii: "0"))
    }

    private mutating func append(_ text: String) {
      // Each byte may become two, and behind a text there may be only numbers.
      hasRoom = hasRoom && bytes.count - count >= text.utf8.count * 2 + JournalLine.longestWithoutTexts
      guard hasRoom else { return }
      append(UInt8(ascii: "\t"))
      var text = text
      text.withUTF8 { text in
        // Hardly any text has a byte that must not stand as it is.
        if copy(UnsafeRawBufferPointer(text)) {
          count += text.count
        } else {
          for byte in text { appendEscaped(byte) }
        }
      }
    }

    /// Copies a text, eight bytes at a time: one by one, this was a twentieth of a small file's work.
    /// - Returns: false, perhaps with part of it copied, where a byte must not stand in a field as it is; perhaps also
    ///   for another control character.
    private func copy(_ text: UnsafeRawBufferPointer) -> Bool {
      guard let from = text.baseAddress, let to = bytes.baseAddress.map({ $0 + count }) else { return true }
      guard text.count >= 8 else {
        for index in 0..<text.count {
          let byte = from.load(fromByteOffset: index, as: UInt8.self)
          if byte < 0x20 || byte == UInt8(ascii: "\\") { return false }
          to.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
        }
        return true
      }
      var start = 0
      while true {
        let word = from.loadUnaligned(fromByteOffset: start, as: UInt64.self)
        if JournalLine.hasSpecial(word) { return false }
        to.storeBytes(of: word, toByteOffset: start, as: UInt64.self)
        if start == text.count - 8 { return true }
        // The last word overlaps the one before it, if need be.
        start = min(start + 8, text.count - 8)
      }
    }

    private mutating func appendEscaped(_ byte: UInt8) {
      switch byte {
      case UInt8(ascii: "\t"): appendAfterBackslash(UInt8(ascii: "t"))
      case UInt8(ascii: "\n"): appendAfterBackslash(UInt8(ascii: "n"))
      case UInt8(ascii: "\\"): appendAfterBackslash(byte)
      // Zeros mark where lines end.
      case 0: appendAfterBackslash(UInt8(ascii: "z"))
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
      var rest = number.magnitude
      let digits = Self.digits(of: rest)
      var place = count + digits
      count = place
      while rest >= 10 {
        let shorter = rest / 100
        let pair = rest &- shorter &* 100
        bytes[place &- 1] = UInt8(truncatingIfNeeded: pair % 10) | UInt8(ascii: "0")
        bytes[place &- 2] = UInt8(truncatingIfNeeded: pair / 10) | UInt8(ascii: "0")
        place &-= 2
        rest = shorter
      }
      if digits % 2 == 1 { bytes[place &- 1] = UInt8(truncatingIfNeeded: rest) | UInt8(ascii: "0") }
    }

    private static func digits(of number: UInt64) -> Int {
      var (digits, limit) = (1, 10 as UInt64)
      // Ten to the power of 20 is more than there can be.
      while digits < 20, number >= limit {
        digits += 1
        limit &*= 10
      }
      return digits
    }
  }

  /// Whether one of eight bytes must not stand in a field as it is; perhaps also for another control character.
  private static func hasSpecial(_ word: UInt64) -> Bool {
    let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    let other = word ^ ones &* UInt64(UInt8(ascii: "\\"))
    // A byte below 32, or one that is zero (Hacker's Delight, "Find First 0-Byte").
    let found = ((word &- ones &* 0x20) & ~word) | ((other &- ones) & ~other)
    return found & highs != 0
  }

  /// The rows of a journal, oldest first; lines that are no rows are left out, as are the zeros behind them.
  static func decode(_ journal: [UInt8]) -> [CacheRow] {
    // What follows the last line feed was not written completely.
    guard let end = journal.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    return journal[..<end].split(separator: UInt8(ascii: "\n")).compactMap { row($0) }
  }

  /// - Parameter line: without its line feed.
  /// - Returns: nil for a line that is no row, or of which a power cut left zeros.
  static func row(_ line: some Collection<UInt8>) -> CacheRow? {
    guard !line.contains(0) else { return nil }
    let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { text($0) }
    guard fields.count == RowColumn.all.count + 1, fields[0] == format else { return nil }
    var source = Fields(fields: fields)
    return try? CacheRow(from: &source)
  }

  private struct Fields: RowSource {
    let fields: [String?]

    /// The first field is the format.
    func text(_ column: RowColumn) -> String? { fields[column.rawValue + 1] }

    func number(_ column: RowColumn) throws(NoRow) -> Int64? {
      guard let text = text(column) else { return nil }
      guard let number = Int64(text) else { throw NoRow() }
      return number
    }
  }

  private static func text(_ field: some Collection<UInt8>) -> String? {
    guard field.contains(UInt8(ascii: "\\")) else { return String(decoding: field, as: UTF8.self) }
    return unescaped(field).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Whether a field stands for nothing.
  static func isNothing(_ field: UnsafeRawPointer, _ count: Int) -> Bool {
    count == 2 && field.load(as: UInt8.self) == UInt8(ascii: "\\")
      && field.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: "0")
  }

  /// A field that `Writer` wrote for a number.
  static func number(_ field: UnsafeRawPointer, _ count: Int) -> Int64 {
    var number: UInt64 = 0
    var place = 0
    let isNegative = field.load(as: UInt8.self) == UInt8(ascii: "-")
    if isNegative { place = 1 }
    while place < count {
      let digit = field.load(fromByteOffset: place, as: UInt8.self) &- UInt8(ascii: "0")
      number = number &* 10 &+ UInt64(digit)
      place &+= 1
    }
    return Int64(bitPattern: isNegative ? 0 &- number : number)
  }

  /// The bytes that a field with a backslash stands for; nil for none.
  static func unescaped(_ field: some Collection<UInt8>) -> [UInt8]? {
    if field.count == 2, field.dropFirst().first == UInt8(ascii: "0") { return nil }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in field {
      switch (isEscaped, byte) {
      case (false, UInt8(ascii: "\\")):
        isEscaped = true
        continue
      case (true, UInt8(ascii: "t")): bytes.append(UInt8(ascii: "\t"))
      case (true, UInt8(ascii: "n")): bytes.append(UInt8(ascii: "\n"))
      case (true, UInt8(ascii: "z")): bytes.append(0)
      default: bytes.append(byte)
      }
      isEscaped = false
    }
    return bytes
  }
}
