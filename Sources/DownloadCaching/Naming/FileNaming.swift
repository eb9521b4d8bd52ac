public import DownloadModel

/// What a file is called (RFC 6266, RFC 8187; http.md 21 and 22). Functions of values, no disk.
public enum FileNaming {
  /// Longest name in bytes that dlm gives. Linux allows 255; dlm itself appends up to ".part.json" (10)
  /// and a number before the extension (up to 8).
  static let longest = 230
  /// The name of an address that has none.
  static let nameless = "index.html"

  /// The name that the address gives: its last path segment, percent-decoded once, without query. A dot that hides the
  /// file is kept where the user can see it in the address.
  public static func name(of address: Address) -> String {
    let segment = address.lastPathSegment
    if isPlain(segment) { return String(segment) }
    // Octets that are no UTF-8 stay encoded: the text as written is at least readable and unique.
    let decoded = PercentEncoding.decode(segment).flatMap { String(validating: $0, as: UTF8.self) }
    let mayHide = segment.utf8.first == UInt8(ascii: ".")
    return NameSanitizer.sanitize(decoded ?? String(segment), mayHide: mayHide) ?? nameless
  }

  /// The same, with the number that tells it from other addresses' of the list.
  public static func name(of address: Address, number: Int) -> String {
    number > 0 ? alternative(name(of: address), number) : name(of: address)
  }

  /// The hash of the name that the address gives. A list is read by it, so the usual name is not made for it.
  static func hash(ofNameOf address: Address) -> UInt64 {
    let segment = address.lastPathSegment
    return isPlain(segment) ? Hash.of(segment.utf8) : Hash.of(name(of: address).utf8)
  }

  /// The name that a Content-Disposition gives; nil if it is malformed or gives none that can be used.
  static func name(contentDisposition field: String) -> String? {
    ContentDisposition(field)?.filename.flatMap { NameSanitizer.sanitize($0) }
  }

  /// The n-th name to try beside `name`: "x.tar.gz" gives "x.1.tar.gz".
  static func alternative(_ name: String, _ number: Int) -> String {
    let (stem, fileExtension) = split(name)
    return "\(stem).\(number)\(fileExtension)"
  }

  /// Whether a name that the user chose can be one: a single segment that leaves room for dlm's suffixes and
  /// is none of its records'.
  public static func isUsable(_ name: String) -> Bool {
    isName(name) && name.utf8.count <= longest && !PartialName.isRecord(name)
  }

  /// Whether a text is a name at all: not empty, not one of the two that lead to a folder, and without the bytes that
  /// separate names (0x2F) or end them (0). Of bytes, as the kernel reads it.
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

  /// Stem and extension, the dot with the extension; `.tar.gz` and its kin are one extension.
  static func split(_ name: String) -> (stem: Substring, extension: Substring) {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
      return (name[...], "")
    }
    let (stem, ending) = (name[..<dot], name[dot...])
    // Longer "extensions", or ones with a blank, are sentences that happen to hold a dot.
    guard ending.utf8.count > 1, ending.utf8.count <= 16, !ending.utf8.contains(UInt8(ascii: " ")) else {
      return (name[...], "")
    }
    let tar = stem.utf8.suffix(4)
    guard stem.utf8.count > 4, tar.elementsEqual(".tar".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else {
      return (stem, ending)
    }
    return (name[..<tar.startIndex], name[tar.startIndex...])
  }

  /// Most names: ASCII letters, digits and a few marks. They need neither decoding nor cleaning.
  private static func isPlain(_ segment: Substring) -> Bool {
    guard let first = segment.utf8.first, first != UInt8(ascii: "."), segment.utf8.count <= longest else {
      return false
    }
    let isPlain = segment.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "+"), UInt8(ascii: "~"), UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: ","):
        true
      default: false
      }
    }
    return isPlain && !PartialName.isReserved(segment)
  }
}
