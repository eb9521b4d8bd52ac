import DownloadModel

/// The file name in a Content-Disposition field (RFC 6266 §4.1), with RFC 8187's encoded form. Values without quotes may
/// hold blanks and UTF-8, as frameworks send them (http.md 36).
struct ContentDisposition: Equatable {
  /// `filename*` if it can be read, else `filename`.
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
      // A closing ";" and ";;" are common and harmless.
      if scanner.isAtEnd || scanner.peeks(UInt8(ascii: ";")) { continue }
      guard let name = scanner.token()?.lowercased() else { return nil }
      scanner.skipBlanks()
      guard scanner.take(UInt8(ascii: "=")) else { return nil }
      scanner.skipBlanks()
      let isQuoted = scanner.peeks(UInt8(ascii: "\""))
      guard let value = isQuoted ? scanner.quotedString() : scanner.looseValue() else { return nil }
      // Two of one name: the senders' mistake, and each reader takes another one.
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
    guard parts.count == 3, let octets = PercentEncoding.decodeStrictly(Substring(parts[2])) else {
      return nil
    }
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
