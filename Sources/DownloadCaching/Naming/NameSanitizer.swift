/// Makes a file name of a text that a server wrote (RFC 6266 §4.3).
///
/// It works on Unicode scalars, never on `Character`: a `/` and a combining mark behind it are one character and two
/// names to the file system.
enum NameSanitizer {
  /// The last segment without characters that deceive or break a terminal, short enough for the disk, and none of dlm's
  /// own.
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
    // A server that could name a file like dlm's part or its record could forge one.
    guard PartialName.isReserved(name) else { return name }
    return shortened(name, to: FileNaming.longest - 1) + "_"
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

  private static func trimmed(_ name: Substring) -> String {
    var rest = name.unicodeScalars
    while rest.first?.properties.isWhitespace == true { rest.removeFirst() }
    while rest.last?.properties.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }

  /// Cuts the stem of a name that is too long, where it can at a character that a reader would see, and keeps the
  /// extension.
  private static func shortened(_ name: String, to length: Int) -> String {
    guard name.utf8.count > length else { return name }
    let (stem, ending) = FileNaming.split(name)
    let room = length - ending.utf8.count
    let cut = prefix(stem, bytes: room)
    if !cut.isEmpty { return cut + ending }
    // One "character" may be a letter under two hundred accents.
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
