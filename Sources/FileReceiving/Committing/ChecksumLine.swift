package import DownloadModel

/// One line of a checksum list, as coreutils' `sha256sum` (`HEX name`, `HEX *name`) and BSD's `sha256`
/// (`SHA256 (name) = HEX`) write it. A backslash at the start of the line means that the name is escaped.
package enum ChecksumLine: Equatable {
  case blank
  case malformed
  /// A BSD line with an unknown algorithm.
  case unknown(String)
  case entry(path: String, ContentDigest)

  /// Reads bytes, because a combining mark after a space or slash would form one `Character` with it.
  package init(_ line: String) {
    var line = line.utf8[...]
    if line.last == .carriageReturn { line.removeLast() }
    if line.allSatisfy(OptionalWhiteSpace.contains) || line.first == .numberSign {
      self = .blank
      return
    }
    let isEscaped = line.first == .backslash
    if isEscaped { line.removeFirst() }
    guard let (name, digest) = Self.coreutils(line) ?? Self.bsd(line), name.contains(where: { $0 != .slash })
    else {
      let tag = Substring(line.prefix { $0.isLetterOrDigit || $0 == .dash })
      let isKnown = ContentDigest.Algorithm(rawValue: tag.lowercased().replacing("-", with: "")) != nil
      let isTagged = !tag.isEmpty && !isKnown && Substring(line[tag.endIndex...]).contains(/^ \(.+\) = ./)
      self = isTagged ? .unknown(String(tag)) : .malformed
      return
    }
    let path = isEscaped ? Self.unescaped(name) : Array(name)
    self = .entry(path: String(utf8: path), digest)
  }

  private static func coreutils(_ line: Substring.UTF8View) -> (Substring.UTF8View, ContentDigest)? {
    guard let blank = line.firstIndex(of: .blank), let digest = ContentDigest(hex: Substring(line[..<blank]))
    else { return nil }
    // One space, then a space (text) or an asterisk (binary). Some tools write only one space.
    var name = line[line.index(after: blank)...]
    if let mark = name.first, mark == .blank || mark == UInt8(ascii: "*") { name.removeFirst() }
    return name.isEmpty ? nil : (name, digest)
  }

  private static func bsd(_ line: Substring.UTF8View) -> (Substring.UTF8View, ContentDigest)? {
    guard let open = line.place(of: " ("), let close = line.ranges(of: ") = ".utf8).last,
      open.upperBound <= close.lowerBound,
      let algorithm = ContentDigest.Algorithm(
        rawValue: String(utf8: line[..<open.lowerBound].filter { $0 != .dash })
          .lowercased()),
      let digest = ContentDigest(algorithm, hex: Substring(line[close.upperBound...]))
    else { return nil }
    return (line[open.upperBound..<close.lowerBound], digest)
  }

  private static func unescaped(_ name: Substring.UTF8View) -> [UInt8] {
    var text = [UInt8]()
    var rest = name
    while let byte = rest.popFirst() {
      guard byte == .backslash else {
        text.append(byte)
        continue
      }
      let marks = [UInt8(ascii: "n"): UInt8.newline, UInt8(ascii: "r"): UInt8.carriageReturn]
      if let escaped = rest.popFirst() { text.append(marks[escaped] ?? escaped) }
    }
    return text
  }
}
