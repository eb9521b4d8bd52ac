public import DownloadModel
import Glibc

/// Rules for file names (RFC 6266, RFC 8187; HTTP rules 21 and 22). Pure.
public enum FileNaming {
  /// Longest name in bytes that dlm gives. Linux allows 255; dlm appends up to ".part.json" (10), and a number (8).
  static let longest = 230
  static let nameless = "index.html"
  /// In bytes: Linux's limit for one call.
  private static let longestPath = 4096

  /// The name that the address gives: its last path segment, percent-decoded once, without query. A leading dot is kept
  /// where the user wrote the address, and so has seen it.
  public static func name(of address: Address, from provenance: Provenance = .user) -> String {
    let segment = address.lastPathSegment
    if isPlain(segment) { return String(segment) }
    if let data = address.data { return data.fileName }
    return name(of: segment, from: provenance) ?? nameless
  }

  private static func name(of segment: Substring, from provenance: Provenance) -> String? {
    // Octets that are not UTF-8 stay encoded: the text as written is at least readable and unique.
    let decoded = PercentEncoding.decode(segment).flatMap { String(validating: $0, as: UTF8.self) }
    let mayHide = provenance == .user && segment.utf8.first == UInt8(ascii: ".")
    return NameSanitizer.sanitize(decoded ?? String(segment), mayHide: mayHide)
  }

  /// The folders of its path (`--keep-paths`), below its host (`--prefix-host`); nil for none.
  public static func folder(
    of address: Address, from provenance: Provenance, keepsPath: Bool, prefixesHost: Bool
  ) -> String? {
    let segments =
      keepsPath ? address.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) : []
    let folders = segments.dropLast().compactMap { name(of: Substring($0), from: provenance) }
    return path((prefixesHost ? [address.hostAndPort] : []) + folders)
  }

  /// A list's path without what nobody but the user may choose, such as hidden names; nil if nothing is left.
  public static func cleaned(_ path: String) -> String? {
    let names = path.utf8.split(separator: UInt8(ascii: "/"))
    return self.path(names.compactMap { NameSanitizer.sanitize(String(Substring($0))) })
  }

  private static func path(_ names: [String]) -> String? {
    var path = ""
    for name in names where path.utf8.count + name.utf8.count < longestPath {
      path += (path.isEmpty ? "" : "/") + name
    }
    return path.isEmpty ? nil : path
  }

  /// The name that its line or its address gives, with its number in the list.
  public static func name(of request: DownloadRequest) -> String {
    alternative(request.outputName ?? name(of: request.address, from: request.provenance), request.nameNumber)
  }

  /// The hash of that name, which is not built for it in the usual case.
  static func hash(ofNameOf address: Address, from provenance: Provenance) -> UInt64 {
    let segment = address.lastPathSegment
    return isPlain(segment) ? Hash.of(segment.utf8) : Hash.of(name(of: address, from: provenance).utf8)
  }

  package static func name(contentDisposition field: String) -> String? {
    ContentDisposition(field)?.filename.flatMap { NameSanitizer.sanitize($0) }
  }

  /// The n-th name to try beside `name`: "x.tar.gz" gives "x.1.tar.gz"; for 0, the name itself.
  package static func alternative(_ name: String, _ number: Int) -> String {
    guard number > 0 else { return name }
    let (stem, fileExtension) = split(name)
    return "\(stem).\(number)\(fileExtension)"
  }

  /// Whether a user's name can be used: one path segment, short enough for dlm's suffixes, and not a name of metadata.
  public static func isUsable(_ name: String) -> Bool {
    isName(name) && name.utf8.count <= longest && !PartialName.isMetadata(name)
  }

  /// Whether a list's path can be used: names below a folder, which it does not leave.
  public static func isUsablePath(_ path: String) -> Bool {
    let names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return path.utf8.count <= longestPath && names.allSatisfy { isUsable(String(Substring($0))) }
  }

  /// Whether a text is a name to the kernel: not empty, not `.` or `..`, and without a slash or a zero byte.
  static func isName(_ text: String) -> Bool {
    var (count, dots) = (0, 0)
    for byte in text.utf8 {
      if byte == UInt8(ascii: "/") || byte == 0 { return false }
      if byte == UInt8(ascii: ".") { dots += 1 }
      count += 1
    }
    return count > 2 || count > dots
  }

  /// Whether two names, or paths, have the same bytes. To Swift, two normal forms of one text are equal.
  package static func areSame(_ left: String, _ right: String) -> Bool {
    var (left, right) = (left, right)
    return left.withUTF8 { left in right.withUTF8 { areSame(left, $0) } }
  }

  package static func areSame(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
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

  /// Whether the segment needs neither decoding nor cleaning, as most.
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

/// Makes a file name from a text that a server wrote (RFC 6266 §4.3). It works on Unicode scalars: a `/` and a
/// combining mark after it are one `Character`, but a separator to the file system.
enum NameSanitizer {
  /// The last path segment, without characters that deceive the reader or break a terminal, short enough for the disk,
  /// and not a name that dlm reserves; nil if nothing usable is left.
  /// - Parameter mayHide: whether the name may begin with a dot, which hides the file. A server must not choose that:
  ///   ".bashrc" in a home folder would be run (CVE-2010-2252).
  static func sanitize(_ text: String, mayHide: Bool = false) -> String? {
    let scalars = text.unicodeScalars
    let separator = scalars.lastIndex { $0 == "/" || $0 == "\\" }
    let segment = separator.map { scalars[scalars.index(after: $0)...] } ?? scalars[...]
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: segment.filter { !isUnwanted($0) })
    var name = trimmed(String(kept)[...])
    if name.utf8.count > FileNaming.longest { name = trimmed(shortened(name, to: FileNaming.longest)[...]) }
    guard FileNaming.isName(name) else { return nil }
    if !mayHide, name.utf8.first == UInt8(ascii: ".") { name = "_" + String(name.unicodeScalars.dropFirst()) }
    // A server that could name a file like a part or its metadata could forge one.
    guard PartialName.isReserved(name[...]) else { return name }
    return shortened(name, to: FileNaming.longest - 1) + "_"
  }

  /// Control characters, line ends, and marks of direction, with which "exe.txt" and "txt.exe" look alike.
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

  /// Cuts the stem of a name that is too long, and keeps the extension.
  private static func shortened(_ name: String, to length: Int) -> String {
    guard name.utf8.count > length else { return name }
    let (stem, ending) = FileNaming.split(name)
    let ends = stem.utf8.indices.prefix(length - ending.utf8.count + 1).dropFirst().reversed()
    // Between characters as a reader sees them, if possible: one may be a letter under two hundred accents.
    let end =
      ends.first { String.Index($0, within: name) != nil }
      ?? ends.first { $0.samePosition(in: name.unicodeScalars) != nil }
    return String(stem[..<(end ?? stem.startIndex)] + ending)
  }
}
