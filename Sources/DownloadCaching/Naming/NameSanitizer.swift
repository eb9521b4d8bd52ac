/// Makes a file name of a text that a server wrote (RFC 6266 §4.3).
enum NameSanitizer {
  /// The last segment without characters that deceive or break a terminal, short enough for the disk.
  /// - Returns: nil if nothing usable is left.
  static func sanitize(_ text: String) -> String? {
    let segment = text.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? ""
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: segment.unicodeScalars.filter { !isUnwanted($0) })
    var name = trimmed(String(kept))
    if name.utf8.count > FileNaming.longest { name = trimmed(shortened(name)) }
    guard !name.isEmpty, name != ".", name != ".." else { return nil }
    // A server that could name a file like dlm's record of a partial file could forge one.
    return PartialName.isReserved(name) ? name + "_" : name
  }

  /// Control characters, line ends of Unicode, and the marks that turn the direction of writing: with those,
  /// "exe.txt" and "txt.exe" look alike.
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

  private static func trimmed(_ name: String) -> String {
    var rest = name[...]
    while let first = rest.first, first.isWhitespace { rest.removeFirst() }
    while let last = rest.last, last.isWhitespace { rest.removeLast() }
    return String(rest)
  }

  /// Cuts the stem at a character and keeps the extension.
  private static func shortened(_ name: String) -> String {
    let (stem, ending) = FileNaming.split(name)
    let room = FileNaming.longest - ending.utf8.count
    var cut = prefix(stem, bytes: room)
    // One "character" may be a letter under two hundred accents.
    if cut.isEmpty {
      var scalars = Substring.UnicodeScalarView()
      var size = 0
      for scalar in stem.unicodeScalars {
        size += UTF8.width(scalar)
        guard size <= room else { break }
        scalars.append(scalar)
      }
      cut = Substring(scalars)
    }
    return String(cut) + ending
  }

  private static func prefix(_ text: Substring, bytes room: Int) -> Substring {
    var size = 0
    for index in text.indices {
      size += text[index].utf8.count
      if size > room { return text[..<index] }
    }
    return text
  }
}
