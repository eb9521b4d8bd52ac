import DownloadModel

/// The file name in a Content-Disposition field (RFC 6266 §4.1), with RFC 8187's encoded form. Values without quotes
/// may hold spaces and UTF-8, because frameworks send them so (HTTP rule 36).
struct ContentDisposition {
  /// `filename*` if it can be decoded, otherwise `filename`, otherwise a quoted `filename*`, which violates the
  /// grammar.
  let filename: String?

  /// - Returns: `nil` if the field violates the grammar: such a field is ignored completely.
  init?(_ field: String) {
    var scanner = FieldScanner(rest: field.utf8[...])
    guard scanner.token() != nil else { return nil }
    var values: [String: String] = [:]
    while scanner.next() != nil {
      guard scanner.take(.semicolon) else { return nil }
      // A final ";" and ";;" are common and harmless.
      if [nil, .semicolon].contains(scanner.next()) { continue }
      guard let name = scanner.token()?.lowercased(), scanner.take(.equals) else { return nil }
      let isQuoted = scanner.next() == .quote
      guard let value = isQuoted ? scanner.quotedString() : scanner.looseValue() else { return nil }
      // Two parameters with one name are the sender's mistake, which readers resolve differently.
      let key = isQuoted && name == "filename*" ? "filename* in quotes" : name
      guard values.updateValue(value, forKey: key) == nil else { return nil }
    }
    filename =
      values["filename*"].flatMap(Self.decodeExtended) ?? values["filename"].map { EncodedWords.decode($0) ?? $0 }
      ?? values["filename* in quotes"].flatMap(Self.decodeExtended)
  }

  /// RFC 8187 §3.2: `charset'language'percent-encoded`; UTF-8 and, for old senders, ISO-8859-1.
  private static func decodeExtended(_ value: String) -> String? {
    let parts = value.utf8.split(separator: UInt8(ascii: "'"), omittingEmptySubsequences: false)
    guard parts.count == 3, let octets = PercentEncoding.octets(Array(parts[2])[...], isStrict: true) else {
      return nil
    }
    return text(octets, in: Substring(parts[0]))
  }

  fileprivate static func text(_ octets: [UInt8], in charset: Substring) -> String? {
    switch charset.lowercased() {
    case "utf-8", "utf8": String(validating: octets, as: UTF8.self)
    case "iso-8859-1": String(decoding: octets.map(UInt16.init), as: UTF16.self)
    default: nil
    }
  }
}

/// The encoded words of mail (RFC 2047), which some frameworks send in `filename=`, and browsers decode:
/// `=?UTF-8?B?…?=`, `=?UTF-8?Q?…?=`. A space only separates two words.
private enum EncodedWords {
  private static let mark = UInt8.equals

  /// - Returns: `nil` unless the whole text consists of such words.
  static func decode(_ text: String) -> String? {
    let words = text.utf8.split(separator: 0x20)
    let decoded = words.compactMap { word in
      let parts = word.split(separator: .questionMark, omittingEmptySubsequences: false)
      return parts.count == 5 && [parts[0], parts[4]].allSatisfy { $0.elementsEqual([mark]) }
        ? decode(parts[3], Substring(parts[2]).lowercased(), in: Substring(parts[1])) : nil
    }
    return decoded.count == words.count ? decoded.joined() : nil
  }

  private static func decode(_ content: Substring.UTF8View, _ kind: String, in charset: Substring) -> String? {
    // `Q` is percent-encoding with another mark, and with `_` for a space.
    let percent = UInt8.percent
    let percents = PercentEncoding.encoded(content) { $0 == percent }
      .map { $0 == mark ? percent : $0 == UInt8(ascii: "_") ? 0x20 : $0 }
    let octets = kind == "b" ? Base64.octets(Array(content)) : PercentEncoding.octets(percents[...], isStrict: true)
    return octets.flatMap { ContentDisposition.text($0, in: charset) }
  }
}

/// Reads the elements of a header field's value (RFC 9110 §5.6), and skips the blanks before them.
private struct FieldScanner {
  var rest: Substring.UTF8View

  mutating func next() -> UInt8? {
    rest = rest.drop(while: OptionalWhiteSpace.contains)
    return rest.first
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard next() == byte else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func taken(_ part: Substring.UTF8View) -> String? {
    rest = rest[part.endIndex...]
    return part.isEmpty ? nil : String(Substring(part))
  }

  mutating func token() -> String? {
    _ = next()
    return taken(rest.prefix { $0.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) })
  }

  mutating func looseValue() -> String? {
    taken(rest.prefix { $0 != .semicolon }).map { String(OptionalWhiteSpace.trimmed($0[...])) }
  }

  /// The text between quotes, with `\x` read as `x`; `nil` if the closing quote is missing.
  mutating func quotedString() -> String? {
    rest.removeFirst()
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == .quote { return String(utf8: text) }
      guard let byte = byte == .backslash ? rest.popFirst() : byte else { return nil }
      text.append(byte)
    }
    return nil
  }
}

/// Makes a file name from a server's text (RFC 6266 §4.3). Works on Unicode scalars: a `/` and a combining mark after
/// it are one `Character`, but a separator to the file system.
enum NameSanitizer {
  /// The last path segment, without characters that deceive the reader or break a terminal, short enough for the disk,
  /// and not a name that dlm reserves; `nil` if nothing usable is left.
  /// - Parameter isUsersWord: whether the name may start with a dot, which hides the file, or with a dash, which
  ///   commands read as an option. A server or list must not choose that: ".bashrc" in a home folder would be run
  ///   (CVE-2010-2252).
  static func sanitize(_ text: String, isUsersWord: Bool = false) -> String? {
    let scalars = text.unicodeScalars
    let separator = scalars.lastIndex { $0 == "/" || $0 == "\\" }
    let segment = separator.map { scalars[scalars.index(after: $0)...] } ?? scalars[...]
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: segment.filter { !isUnwanted($0) })
    var name = trimmed(String(kept)[...])
    if name.utf8.count > FileNaming.longest { name = trimmed(shortened(name, to: FileNaming.longest)[...]) }
    guard FileNaming.isName(name) else { return nil }
    if !isUsersWord, isMarked(name.utf8) { name = "_" + String(name.unicodeScalars.dropFirst()) }
    // A server that could name a file like a part or its metadata could forge one.
    guard PartialName.isReserved(name[...]) else { return name }
    return shortened(name, to: FileNaming.longest - 1) + "_"
  }

  /// Whether a name starts with a dot or a dash.
  static func isMarked(_ name: some Collection<UInt8>) -> Bool {
    name.first == .dot || name.first == .dash
  }

  /// Control characters, line ends, and direction marks, with which "exe.txt" and "txt.exe" look alike.
  static func isUnwanted(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }

  private static func trimmed(_ name: Substring) -> String {
    var rest = name.unicodeScalars
    while rest.first?.properties.isWhitespace == true { rest.removeFirst() }
    while rest.last?.properties.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }

  /// Shortens the stem of a name that is too long, and keeps the extension.
  private static func shortened(_ name: String, to length: Int) -> String {
    guard name.utf8.count > length else { return name }
    let (stem, ending) = FileNaming.split(name)
    let ends = stem.utf8.indices.prefix(length - ending.utf8.count + 1).dropFirst().reversed()
    // Between characters as a reader sees them, if possible: one may be a letter with two hundred accents.
    let end =
      ends.first { String.Index($0, within: name) != nil }
      ?? ends.first { $0.samePosition(in: name.unicodeScalars) != nil }
    return String(stem[..<(end ?? stem.startIndex)] + ending)
  }
}
