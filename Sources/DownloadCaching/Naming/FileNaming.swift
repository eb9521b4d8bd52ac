public import DownloadModel
import Glibc

/// Rules for file names (RFC 6266, RFC 8187; HTTP rules 21 and 22). Pure.
public enum FileNaming {
  /// Longest name in bytes that dlm gives. Linux allows 255; dlm itself appends up to ".part.json" (10) and a number
  /// before the extension (up to 8).
  static let longest = 230
  /// The name for an address that gives none.
  static let nameless = "index.html"

  /// The name that the address gives: its last path segment, percent-decoded once, without query. A leading dot, which
  /// hides the file, is kept where the user wrote the address and so has seen it.
  public static func name(of address: Address, from provenance: Provenance = .user) -> String {
    let segment = address.lastPathSegment
    if isPlain(segment) { return String(segment) }
    // Octets that are not UTF-8 stay encoded: the text as written is at least readable and unique.
    let decoded = PercentEncoding.decode(segment).flatMap { String(validating: $0, as: UTF8.self) }
    let mayHide = provenance == .user && segment.utf8.first == UInt8(ascii: ".")
    return NameSanitizer.sanitize(decoded ?? String(segment), mayHide: mayHide) ?? nameless
  }

  /// The same, with the number that distinguishes it from the names of other addresses in the list.
  public static func name(of request: DownloadRequest) -> String {
    alternative(name(of: request.address, from: request.provenance), request.nameNumber)
  }

  /// The hash of the name that the address gives. Reading a list needs only this, so it does not build the usual name.
  static func hash(ofNameOf address: Address, from provenance: Provenance) -> UInt64 {
    let segment = address.lastPathSegment
    return isPlain(segment) ? Hash.of(segment.utf8) : Hash.of(name(of: address, from: provenance).utf8)
  }

  /// The name that a Content-Disposition gives; nil if it is malformed or gives none that can be used.
  static func name(contentDisposition field: String) -> String? {
    ContentDisposition(field)?.filename.flatMap { NameSanitizer.sanitize($0) }
  }

  /// The n-th name to try beside `name`: "x.tar.gz" gives "x.1.tar.gz"; for 0, the name itself.
  static func alternative(_ name: String, _ number: Int) -> String {
    guard number > 0 else { return name }
    let (stem, fileExtension) = split(name)
    return "\(stem).\(number)\(fileExtension)"
  }

  /// Whether a name that the user chose can be used: one path segment, short enough for dlm's suffixes, and not a name
  /// of metadata.
  public static func isUsable(_ name: String) -> Bool {
    isName(name) && name.utf8.count <= longest && !PartialName.isMetadata(name)
  }

  /// Whether a text is a name at all: not empty, not `.` or `..`, and without a slash or a zero byte. By bytes, as the
  /// kernel reads it.
  static func isName(_ text: String) -> Bool {
    let bytes = text.utf8
    var (count, dots) = (0, 0)
    for byte in bytes {
      if byte == UInt8(ascii: "/") || byte == 0 { return false }
      if byte == UInt8(ascii: ".") { dots += 1 }
      count += 1
    }
    return count > 2 || count > dots
  }

  /// Whether two names, or paths, are the same to the kernel, which compares bytes. To Swift, two texts are equal that
  /// differ in their normal form alone.
  static func areSame(_ left: String, _ right: String) -> Bool {
    var (left, right) = (left, right)
    return left.withUTF8 { left in right.withUTF8 { areSame(left, $0) } }
  }

  static func areSame(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    guard left.count == right.count, let start = left.baseAddress, let other = right.baseAddress else {
      return left.count == right.count
    }
    return memcmp(start, other, left.count) == 0
  }

  /// Stem and extension; the extension includes its dot, and `.tar.gz` and the like are one extension.
  static func split(_ name: String) -> (stem: Substring, extension: Substring) {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return (name[...], "") }
    let (stem, ending) = (name[..<dot], name[dot...])
    // Longer "extensions", or ones with a blank, are text that happens to contain a dot.
    guard ending.utf8.count > 1, ending.utf8.count <= 16, !ending.utf8.contains(UInt8(ascii: " ")) else {
      return (name[...], "")
    }
    let tar = stem.utf8.suffix(4)
    guard stem.utf8.count > 4, tar.elementsEqual(".tar".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else {
      return (stem, ending)
    }
    return (name[..<tar.startIndex], name[tar.startIndex...])
  }

  /// Whether the segment is of ASCII letters, digits and a few marks, as most are. It then needs neither decoding nor
  /// cleaning.
  private static func isPlain(_ segment: Substring) -> Bool {
    // A text's bytes one by one take ten times as long as the same bytes in memory.
    let isPlain =
      segment.utf8.withContiguousStorageIfAvailable { bytes in
        guard let first = bytes.first, first != UInt8(ascii: "."), bytes.count <= longest else { return false }
        return bytes.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "+"), UInt8(ascii: "~"), UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: ","):
            true
          default: false
          }
        }
      } ?? false
    return isPlain && !PartialName.isReserved(segment)
  }
}

/// Makes a file name from a text that a server wrote (RFC 6266 §4.3).
///
/// It works on Unicode scalars, never on `Character`: a `/` and a combining mark after it are one `Character`, but a
/// separator to the file system.
enum NameSanitizer {
  /// The last path segment, without characters that deceive the reader or break a terminal, short enough for the disk,
  /// and not a name that dlm reserves.
  /// - Parameter mayHide: whether the name may begin with a dot, which hides the file. A server must not choose that:
  ///   ".bashrc" in a home folder would be run (CVE-2010-2252).
  /// - Returns: nil if nothing usable is left.
  static func sanitize(_ text: String, mayHide: Bool = false) -> String? {
    let scalars = text.unicodeScalars
    let separator = scalars.lastIndex { $0 == "/" || $0 == "\\" }
    let segment = separator.map { scalars[scalars.index(after: $0)...] } ?? scalars[...]
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: segment.filter { !isUnwanted($0) })
    var name = trimmed(String(kept)[...])
    if name.utf8.count > FileNaming.longest { name = trimmed(shortened(name, to: FileNaming.longest)[...]) }
    guard FileNaming.isName(name) else { return nil }
    if !mayHide, name.utf8.first == UInt8(ascii: ".") {
      name = "_" + String(name.unicodeScalars.dropFirst())
    }
    // A server that could name a file like a part or its metadata could forge one.
    guard PartialName.isReserved(name[...]) else { return name }
    return shortened(name, to: FileNaming.longest - 1) + "_"
  }

  /// Control characters, Unicode line ends, and marks that change the direction of writing: with those, "exe.txt" and
  /// "txt.exe" look alike.
  private static func isUnwanted(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: return true
    default: break
    }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }

  private static func trimmed(_ name: Substring) -> String {
    var rest = name.unicodeScalars
    while rest.first?.properties.isWhitespace == true { rest.removeFirst() }
    while rest.last?.properties.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }

  /// Cuts the stem of a name that is too long, if possible between characters as a reader sees them, and keeps the
  /// extension.
  private static func shortened(_ name: String, to length: Int) -> String {
    guard name.utf8.count > length else { return name }
    let (stem, ending) = FileNaming.split(name)
    let room = length - ending.utf8.count
    let cut = prefix(stem, bytes: room)
    if !cut.isEmpty { return cut + ending }
    // One `Character` may be a letter under two hundred accents.
    var scalars = String.UnicodeScalarView()
    var size = 0
    for scalar in stem.unicodeScalars {
      size += UTF8.width(scalar)
      guard size <= room else { break }
      scalars.append(scalar)
    }
    return String(scalars) + ending
  }

  private static func prefix(_ text: Substring, bytes room: Int) -> String {
    var size = 0
    for index in text.indices {
      size += text[index].utf8.count
      if size > room { return String(text[..<index]) }
    }
    return String(text)
  }
}

/// The file name in a Content-Disposition field (RFC 6266 §4.1), with RFC 8187's encoded form. Values without quotes
/// may hold blanks and UTF-8, because frameworks send them so (HTTP rule 36).
struct ContentDisposition: Equatable {
  /// `filename*` if it can be decoded, otherwise `filename`.
  let filename: String?

  /// - Returns: nil if the field does not follow the grammar: such a field is ignored as a whole.
  init?(_ field: String) {
    var scanner = FieldScanner(field)
    guard scanner.token() != nil else { return nil }
    var names: Set<String> = []
    var plain: String?
    var extended: String?
    while true {
      scanner.skipBlanks()
      if scanner.isAtEnd { break }
      guard scanner.take(UInt8(ascii: ";")) else { return nil }
      scanner.skipBlanks()
      // A final ";" and ";;" are common and harmless.
      if scanner.isAtEnd || scanner.peeks(UInt8(ascii: ";")) { continue }
      guard let name = scanner.token()?.lowercased() else { return nil }
      scanner.skipBlanks()
      guard scanner.take(UInt8(ascii: "=")) else { return nil }
      scanner.skipBlanks()
      let isQuoted = scanner.peeks(UInt8(ascii: "\""))
      guard let value = isQuoted ? scanner.quotedString() : scanner.looseValue() else { return nil }
      // Two parameters of one name: the sender's mistake, which readers resolve differently.
      guard names.insert(name).inserted else { return nil }
      switch name {
      case "filename": plain = value
      case "filename*" where !isQuoted: extended = Self.decodeExtended(value)
      default: break
      }
    }
    filename = extended ?? plain
  }

  /// RFC 8187 §3.2: `charset'language'percent-encoded`; UTF-8 and, for old senders, ISO-8859-1.
  private static func decodeExtended(_ value: String) -> String? {
    let parts = value.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    guard parts.count == 3, let octets = PercentEncoding.decodeStrictly(Substring(parts[2])) else { return nil }
    switch Substring(parts[0]).lowercased() {
    case "utf-8": return String(validating: octets, as: UTF8.self)
    case "iso-8859-1":
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: octets.map { Unicode.Scalar($0) })
      return String(scalars)
    default: return nil
    }
  }
}

/// Reads the elements of a header field's value (RFC 9110 §5.6).
struct FieldScanner {
  private let bytes: [UInt8]
  private var position = 0

  init(_ field: String) { bytes = Array(field.utf8) }

  var isAtEnd: Bool { position >= bytes.count }

  func peeks(_ byte: UInt8) -> Bool { position < bytes.count && bytes[position] == byte }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peeks(byte) else { return false }
    position += 1
    return true
  }

  mutating func skipBlanks() {
    while peeks(UInt8(ascii: " ")) || peeks(UInt8(ascii: "\t")) { position += 1 }
  }

  mutating func token() -> String? {
    let start = position
    while position < bytes.count, Self.isTokenByte(bytes[position]) { position += 1 }
    return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
  }

  /// The text before the next `;`, without blanks around it; nil if there is none.
  mutating func looseValue() -> String? {
    let end = bytes[position...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
    var value = bytes[position..<end]
    position = end
    while let last = value.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") {
      value.removeLast()
    }
    return value.isEmpty ? nil : String(decoding: value, as: UTF8.self)
  }

  /// The text between quotes, `\x` read as `x`; nil if the closing quote is missing.
  mutating func quotedString() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    var text: [UInt8] = []
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        position += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard position + 1 < bytes.count else { return nil }
        text.append(bytes[position + 1])
        position += 2
      default:
        text.append(bytes[position])
        position += 1
      }
    }
    return nil
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
