import DownloadModel

/// The listing of a file server's folder as a page of links, which is read like that of any server: folders end with a
/// slash. Listings have no standard form (RFC 959 §4.1.3): those of `ls -l` and of MS-DOS are known.
struct FolderListing {
  private var rest: [UInt8] = []
  private var known = 0
  private var unknown = 0

  static let contentType = "text/html"
  /// In bytes: no name is that long.
  private static let longestLine = 64 * 1024

  /// - Returns: the links of the lines that are complete.
  mutating func take(_ bytes: some Sequence<UInt8>) throws(DownloadError) -> [UInt8] {
    rest += bytes
    guard let end = rest.lastIndex(of: 0x0A) else {
      guard rest.count <= Self.longestLine else { throw Self.unreadable }
      return []
    }
    let lines = rest[...end].split(separator: 0x0A)
    rest.removeSubrange(...end)
    return lines.flatMap { link($0) }
  }

  /// - Returns: the link of a last line without its end.
  /// - Throws: if no line could be read.
  mutating func end() throws(DownloadError) -> [UInt8] {
    let last = rest.isEmpty ? [] : link(rest[...])
    rest = []
    if known == 0, unknown > 0 { throw Self.unreadable }
    return last
  }

  private static var unreadable: DownloadError {
    DownloadError(.badResponse, "its listing has an unknown form", "reading the folder")
  }

  private mutating func link(_ line: ArraySlice<UInt8>) -> [UInt8] {
    let line = line.last == 0x0D ? line.dropLast() : line
    if line.starts(with: "total ".utf8) || line.isEmpty { return [] }
    guard let entry = Entry(line) else {
      unknown += 1
      return []
    }
    known += 1
    let name = entry.name
    // Another folder's file is not in this one.
    if name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) || name.contains(.slash) { return [] }
    let plain = PercentEncoding.encoded(name) { !$0.isLetterOrDigit && !"-._~".utf8.contains($0) }
    return Array("<a href=\"./".utf8) + plain + Array((entry.isFolder ? "/\"></a>\n" : "\"></a>\n").utf8)
  }

  struct Entry: Equatable {
    let name: ArraySlice<UInt8>
    let isFolder: Bool

    /// - Parameter line: without its end. `nil` for an unknown form.
    init?(_ line: ArraySlice<UInt8>) {
      let words = line.split(separator: 0x20, maxSplits: 16).filter { !$0.isEmpty }
      guard let entry = Self.unix(line, words) ?? Self.dos(line, words) else { return nil }
      self = entry
    }

    private init(_ name: ArraySlice<UInt8>, isFolder: Bool) {
      self.name = name
      self.isFolder = isFolder
    }

    /// `drwxr-xr-x 2 ftp ftp 4096 Jan  2 2024 name`, or with `2024-01-02 10:00`. A link is taken for a file.
    private static func unix(_ line: ArraySlice<UInt8>, _ words: [ArraySlice<UInt8>]) -> Entry? {
      guard let kind = words.first?.first, "-bcdlps".utf8.contains(kind), words[0].count >= 10 else { return nil }
      for place in words.indices.dropFirst(2) {
        let length = dateLength(words[place...])
        guard length > 0, let last = words.dropFirst(place + length - 1).first else { continue }
        // One blank; further ones are the name's.
        var name = line[last.endIndex...].dropFirst()
        if kind == UInt8(ascii: "l"), let arrow = name.place(of: " -> ") { name = name[..<arrow.lowerBound] }
        return name.isEmpty ? nil : Entry(name, isFolder: kind == UInt8(ascii: "d"))
      }
      return nil
    }

    /// `01-02-24  10:00AM  <DIR>  name`
    private static func dos(_ line: ArraySlice<UInt8>, _ words: [ArraySlice<UInt8>]) -> Entry? {
      guard words.count > 3, words[0].count(where: { $0 == .dash }) == 2,
        words[1].contains(.colon), words[0].first?.isDigit == true
      else { return nil }
      let isFolder = words[2].elementsEqual("<DIR>".utf8)
      guard isFolder || words[2].allSatisfy(\.isDigit) else { return nil }
      return Entry(line[words[3].startIndex...], isFolder: isFolder)
    }

    private static let months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(separator: " ")

    /// The number of words that are a date; 0 for none.
    private static func dateLength(_ words: ArraySlice<ArraySlice<UInt8>>) -> Int {
      let first = String(utf8: words.first ?? [])
      let next = words.dropFirst().first.map { String(utf8: $0) } ?? ""
      if first.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil { return next.contains(":") ? 2 : 1 }
      guard months.contains(first[...]), let time = words.dropFirst(2).first, next.utf8.allSatisfy(\.isDigit) else {
        return 0
      }
      return time.allSatisfy { $0.isDigit || $0 == .colon } ? 3 : 0
    }
  }
}
