package import DownloadModel
import Glibc

/// Rules for file names (RFC 6266, RFC 8187; HTTP rules 21 and 22). Pure.
package enum FileNaming {
  /// Longest name in bytes that dlm gives. Linux allows 255; dlm appends up to ".part.json" (10), and a number (8).
  static let longest = 230
  static let nameless = "index.html"
  /// Linux's limit in bytes for one call.
  private static let longestPath = 4096

  /// The name that the URL gives: its last path segment, percent-decoded once, without query. A leading dot or dash is
  /// kept if the user wrote the URL, and so has seen it.
  package static func name(of address: Address, from provenance: Provenance = .user) -> String {
    let segment = address.lastPathSegment
    if isPlain(segment) { return String(segment) }
    if let data = address.data { return data.fileName }
    return name(of: segment, from: provenance) ?? nameless
  }

  private static func name(of segment: Substring, from provenance: Provenance) -> String? {
    // Octets that are not UTF-8 stay encoded: the text as written is at least readable and unique.
    let decoded = String(validating: PercentEncoding.decode(segment), as: UTF8.self)
    let isUsersWord = provenance == .user && NameSanitizer.isMarked(segment.utf8)
    return NameSanitizer.sanitize(decoded ?? String(segment), isUsersWord: isUsersWord)
  }

  /// The folders of the URL's path (`--keep-paths`), below its host (`--prefix-host`); `nil` without folders.
  /// - Parameter skipped: the number of slashes in the path before the first folder.
  package static func folder(
    of address: Address, from provenance: Provenance, keepsPath: Bool, prefixesHost: Bool, behind skipped: Int = 0
  ) -> String? {
    let segments =
      keepsPath ? address.path.utf8.split(separator: .slash, omittingEmptySubsequences: false) : []
    let folders = segments.dropLast().dropFirst(skipped).compactMap { name(of: Substring($0), from: provenance) }
    return path((prefixesHost ? [address.hostAndPort] : []) + folders)
  }

  /// A list's path without control characters. Also without names that hide a file or look like an option, unless the
  /// user chose them (HTTP rule 50). `nil` if nothing is left.
  package static func cleaned(_ path: String, from provenance: Provenance = .thirdParty) -> String? {
    let names = path.utf8.split(separator: .slash).map(Substring.init)
    let isUsersWord = provenance == .user
    return self.path(
      names.compactMap { name in
        if isPlain(name) || isUsersWord && !hasControls(String(name)) { return String(name) }
        return NameSanitizer.sanitize(String(name), isUsersWord: isUsersWord)
      })
  }

  /// The name from a URL in a third-party list, if it differs from the name that the user's own URL would give.
  package static func cleanedName(of address: Address) -> String? {
    let name = name(of: address, from: .thirdParty)
    return areSame(name, self.name(of: address)) ? nil : name
  }

  private static func path(_ names: [String]) -> String? {
    var path = ""
    for name in names where path.utf8.count + name.utf8.count < longestPath {
      path += (path.isEmpty ? "" : "/") + name
    }
    return path.isEmpty ? nil : path
  }

  /// The name that its line or its URL gives, with its number in the list.
  package static func name(of request: DownloadRequest) -> String {
    alternative(request.outputName ?? name(of: request.address, from: request.provenance), request.nameNumber)
  }

  /// The hash of the URL's name, mostly computed without building the name.
  static func hash(ofNameOf address: Address, from provenance: Provenance) -> UInt64 {
    let segment = address.lastPathSegment
    return isPlain(segment) ? Hash.of(segment.utf8) : Hash.of(name(of: address, from: provenance).utf8)
  }

  package static func name(contentDisposition field: String) -> String? {
    ContentDisposition(field)?.filename.flatMap { NameSanitizer.sanitize($0) }
  }

  /// The n-th name to try beside `name`: "x.tar.gz" gives "x.1.tar.gz"; 0 gives the name itself.
  package static func alternative(_ name: String, _ number: Int) -> String {
    guard number > 0 else { return name }
    let (stem, fileExtension) = split(name)
    return "\(stem).\(number)\(fileExtension)"
  }

  /// Whether a user's name is allowed: one path segment, short enough for dlm's suffixes, and not a name of metadata.
  package static func isUsable(_ name: String) -> Bool {
    isName(name) && name.utf8.count <= longest && !PartialName.isMetadata(name)
  }

  /// Whether a name has control characters or direction marks (HTTP rule 21).
  package static func hasControls(_ name: String) -> Bool {
    name.unicodeScalars.contains(where: NameSanitizer.isUnwanted)
  }

  /// Whether a list's path is allowed: usable names below a folder, without leaving it.
  package static func isUsablePath(_ path: String) -> Bool {
    let names = path.utf8.split(separator: .slash, omittingEmptySubsequences: false)
    return path.utf8.count <= longestPath && names.allSatisfy { isUsable(String(Substring($0))) }
  }

  /// Whether a text is a name to the kernel: not empty, not `.` or `..`, and without a slash or a zero byte.
  static func isName(_ text: String) -> Bool {
    var count = 0
    var dots = 0
    for byte in text.utf8 {
      if byte == .slash || byte == 0 { return false }
      if byte == .dot { dots += 1 }
      count += 1
    }
    return count > 2 || count > dots
  }

  /// Whether two names or paths have the same bytes. Swift treats two normal forms of one text as equal.
  package static func areSame(_ left: String, _ right: String) -> Bool {
    var left = left
    var right = right
    return left.withUTF8 { left in right.withUTF8 { areSame(left, $0) } }
  }

  package static func areSame(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    guard left.count == right.count, let start = left.baseAddress, let other = right.baseAddress else {
      return left.count == right.count
    }
    return memcmp(start, other, left.count) == 0
  }

  /// Stem and extension. The extension includes its dot; `.tar.gz` and the like are one extension.
  static func split(_ name: String) -> (stem: Substring, extension: Substring) {
    guard let dot = name.utf8.lastIndex(of: .dot), dot != name.startIndex else { return (name[...], "") }
    let stem = name[..<dot]
    let ending = name[dot...]
    // Longer "extensions", or ones with a space, are text that happens to contain a dot.
    guard ending.utf8.count > 1, ending.utf8.count <= 16, !ending.utf8.contains(.blank) else {
      return (name[...], "")
    }
    let tar = stem.utf8.suffix(4)
    guard stem.utf8.count > 4, tar.elementsEqual(".tar".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else {
      return (stem, ending)
    }
    return (name[..<tar.startIndex], name[tar.startIndex...])
  }

  /// Whether the segment needs neither decoding nor cleaning, like most.
  private static func isPlain(_ segment: Substring) -> Bool {
    // Reading a text's bytes one by one takes ten times as long as reading the same bytes in memory.
    let isPlain =
      segment.utf8.withContiguousStorageIfAvailable { bytes in
        guard !NameSanitizer.isMarked(bytes), !bytes.isEmpty, bytes.count <= longest else { return false }
        return bytes.allSatisfy { byte in
          switch byte {
          case _ where byte.isLetterOrDigit, .dot, .dash, UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "~"),
            .atSign, .equals, .comma:
            true
          default: false
          }
        }
      } ?? false
    return isPlain && !PartialName.isReserved(segment)
  }
}

extension DownloadRequest {
  /// - Returns: false if an earlier line of the list requested the same file with other header lines.
  @discardableResult
  package mutating func number(by names: NameNumbers) -> Bool {
    let place = names.next(self)
    nameNumber = place.number
    isRepeat = place.isRepeat
    return !place.hasOtherHeaders
  }
}
