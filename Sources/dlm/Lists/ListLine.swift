import CurlTransport
import DownloadModel

/// What one line of a list says: a function of its bytes (contract, "A list").
enum ListLine {
  /// Nothing: blank, or a comment.
  case blank
  case address(Address)
  case addressWith(Address, LineOptions)
  case bad(Rejection.Reason, text: String)

  /// Longer than any address that servers take (8 KiB is common), so it is no list.
  static let limit = 64 * 1024

  /// - Parameter base: what the line may be relative to: the address of its list.
  init(_ bytes: some Collection<UInt8>, base: Address? = nil) {
    guard bytes.count <= Self.limit else {
      self = .bad(.tooLong, text: String(Self.shown(String(decoding: bytes, as: UTF8.self)).prefix(80)))
      return
    }
    let content = Self.trimmed(bytes)
    guard let first = content.first, first != UInt8(ascii: "#") else {
      self = .blank
      return
    }
    let text = Array(content)
    // Nearly all are in ASCII, which is UTF-8.
    guard text.allSatisfy({ $0 < 0x80 }) || String(validating: text, as: UTF8.self) != nil else {
      self = .bad(.notUTF8, text: Self.shown(String(decoding: text, as: UTF8.self)))
      return
    }
    do throws(Address.Malformed) {
      self = .address(try Address(utf8: text))
    } catch {
      // An address has no tab, so only a line that is none is searched for one.
      if error == .controlCharacter, let tab = text.firstIndex(of: 0x09) {
        self = Self.line(text[..<tab], options: text[tab...], base: base)
        return
      }
      let text = String(decoding: text, as: UTF8.self)
      if let base, error == .noScheme, !Self.namesScheme(content),
        let address = AddressReference.resolve(text, against: base)
      {
        self = .address(address)
      } else {
        self = .bad(.malformed(error), text: Self.shown(text))
      }
    }
  }

  private static func line(
    _ address: ArraySlice<UInt8>, options: ArraySlice<UInt8>, base: Address?
  ) -> ListLine {
    let line = ListLine(address, base: base)
    guard case .address(let address) = line else { return line }
    do throws(LineOptions.Unknown) {
      return .addressWith(address, try LineOptions(String(decoding: options, as: UTF8.self)))
    } catch {
      return .bad(.option(shown(error.text)), text: address.redacted)
    }
  }

  /// `mailto:x` is no path (RFC 3986 §4.2).
  private static func namesScheme(_ bytes: some Collection<UInt8>) -> Bool {
    let first = bytes.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    return first.contains(UInt8(ascii: ":"))
  }

  private static func trimmed<Bytes: Collection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    guard let start = bytes.firstIndex(where: { !isBlank($0) }) else { return bytes.prefix(0) }
    var slice = bytes[start...]
    while let last = slice.dropFirst(slice.count - 1).first, isBlank(last) { slice = slice.dropLast() }
    return slice
  }

  /// Short, and without a login or a signature: a line that is no address may still hold one.
  private static func shown(_ text: String) -> String {
    let text = Redaction.redactedAddress(text)
    return text.count > 120 ? text.prefix(119) + "…" : text
  }
}

/// From blocks of bytes to lines, whatever the blocks cut through. A line ends with LF; a byte-order mark before the
/// first one is dropped; an endless line is cut off at the limit of ListLine plus one, which refuses it.
struct LineSplitter {
  private var rest: [UInt8] = []
  private var isFirst = true

  /// - Parameter block: the next bytes; an empty block is the end, and gives the last line if it had no LF.
  mutating func take(_ block: [UInt8]) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    if block.isEmpty {
      if !rest.isEmpty { lines.append(rest) }
      rest = []
    }
    var start = 0
    while start < block.count {
      guard let end = block[start...].firstIndex(of: 0x0A) else { break }
      append(block[start..<end])
      lines.append(rest)
      rest = []
      start = end + 1
    }
    append(block[start...])
    if isFirst, !lines.isEmpty {
      isFirst = false
      if lines[0].starts(with: [0xEF, 0xBB, 0xBF]) { lines[0].removeFirst(3) }
    }
    return lines
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) {
    rest += bytes.prefix(max(0, ListLine.limit + 1 - rest.count))
  }
}
