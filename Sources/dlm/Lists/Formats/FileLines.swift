import DownloadModel
import FileReceiving

/// Formats with one file a line: its URL, its path, and its properties.
struct FileLines: LineRule {
  typealias File = (address: String, path: String, options: LineOptions)

  let said: String
  /// Whether its files are below a URL that must be known.
  var needsBase = false
  /// Returns `nil` for a line of another format.
  let file: (_ line: String) throws(Rejection.NoList) -> File?
  /// Lines that the program printed about other matters.
  var isNoise: (_ line: String) -> Bool = { _ in false }

  func take(_ text: String, base: Address?) throws(Rejection.NoList) -> [ListLine] {
    if text.allSatisfy(\.isWhitespace) || text.hasPrefix("#") || isNoise(text) { return [] }
    guard let file = try file(text) else { return [.bad(.foreign(to: said), text: ListLine.shown(text))] }
    if needsBase, base == nil { throw .noBase }
    return [ListLine(file.address, path: file.path, file.options, base: base)]
  }

  static func format(of start: String, named name: String) -> ListFormat? {
    let lines = start.split(whereSeparator: \.endsLine).lazy.map(String.init)
    if start.contains("ESG Federation download script") || lines.contains(where: isScripted) { return .esgf }
    guard let first = lines.first(where: { !$0.hasPrefix("#") }) else { return nil }
    switch ChecksumLine(first) {
    case .entry, .unknown: return .checksums
    case .blank, .malformed: break
    }
    if first.hasPrefix("Reading package lists...") || lines.contains(where: { printed($0) != nil }) { return .apt }
    if first.hasPrefix("cp "), first.contains("s3://") { return .s5cmd }
    return isBag(name) && bagged(first, [:]) != nil ? .bagit : nil
  }

  /// `apt-get --print-uris`: `'ADDRESS' NAME SIZE ALGORITHM:HEX`.
  static var apt: FileLines {
    FileLines(
      said: "apt-get --print-uris", file: printed,
      isNoise: { !$0.hasPrefix("'") && !$0.contains("://") })
  }

  private static func printed(_ text: String) -> File? {
    guard text.hasPrefix("'") else { return nil }
    let parts = text.split(separator: "'").map(String.init)
    let words = parts.last?.split(separator: " ").map(String.init) ?? []
    var options = LineOptions()
    guard parts.count == 2, words.count >= 2, options.set("size", words[1]),
      words.count == 2 || options.set("checksum", words[2])
    else { return nil }
    // apt does not know the size of an index.
    if options.size == 0 { options.size = nil }
    return (parts[0], words[0], options)
  }

  /// A wget script of the Earth System Grid Federation: `'NAME' 'URL' 'ALGORITHM' 'HEX'` among lines of shell. If the
  /// checksum is unknown, its two fields are empty or missing.
  static var esgf: FileLines {
    FileLines(said: "a wget script of ESGF", file: scripted, isNoise: { !isScripted($0) })
  }

  private static func isScripted(_ text: String) -> Bool { text.hasPrefix("'") && text.contains("' 'http") }

  private static func scripted(_ text: String) -> File? {
    let words = text.split(separator: "'", omittingEmptySubsequences: false).enumerated()
      .compactMap { $0.isMultiple(of: 2) ? nil : String($1) }
    var options = LineOptions()
    guard words.count >= 2 else { return nil }
    if words.count == 4, words[3] != "", !options.set("checksum", "\(words[2]):\(words[3])") { return nil }
    return (words[1], words[0], options)
  }

  /// A bag's `fetch.txt` (RFC 8493 §2.2.3): `URL LENGTH PATH`. The checksums are in the manifests beside it.
  /// - Parameters:
  ///   - name: of the list.
  ///   - beside: reads a file beside the list.
  static func bag(named name: String, _ beside: (String) throws -> [UInt8]?) rethrows -> FileLines {
    var sums: [ByteText: ContentDigest] = [:]
    for algorithm in ["sha512", "sha256", "sha1", "md5"] where sums.isEmpty && isBag(name) {
      for line in try beside("manifest-\(algorithm).txt")?.split(separator: 0x0A) ?? [] {
        if case .entry(let path, let sum) = ChecksumLine(String(utf8: line)) {
          sums[ByteText(path)] = sum
        }
      }
    }
    return FileLines(said: "a bag's fetch.txt\(sums.isEmpty ? " without a manifest beside it" : "")") {
      [sums] text in bagged(text, sums)
    }
  }

  private static func isBag(_ name: String) -> Bool { name == "fetch.txt" || name.hasSuffix("/fetch.txt") }

  private static func bagged(_ text: String, _ sums: [ByteText: ContentDigest]) -> File? {
    let words = text.split(maxSplits: 2, whereSeparator: \.isWhitespace).map { OptionalWhiteSpace.trimmed($0) }
    guard words.count == 3, words[1] == "-" || Int64(words[1]) ?? -1 >= 0 else { return nil }
    // Only these characters are encoded, also in the manifest.
    let path = [("0A", "\n"), ("0a", "\n"), ("0D", "\r"), ("0d", "\r"), ("25", "%")]
      .reduce(String(words[2])) { $0.replacing("%\($1.0)", with: $1.1) }
    return (String(words[0]), path, LineOptions(size: Int64(words[1]), checksum: sums[ByteText(words[2])]))
  }

  /// Whether a list's name says that its checksums are BLAKE2; without `--tag` they look like others.
  static func isBLAKE2(_ name: String) -> Bool {
    let file = name.lowercased().split(separator: "/").last ?? ""
    return file.contains("b2sum") || file.contains("blake2") || file.hasSuffix(".b2")
  }

  /// The output of `sha256sum` and similar programs, for files below a URL.
  static var checksums: FileLines {
    FileLines(said: "a list of checksums", needsBase: true) { text throws(Rejection.NoList) in
      let line = ChecksumLine(text)
      if case .unknown(let algorithm) = line { throw .checksums(algorithm) }
      guard case .entry(let path, let digest) = line else { return nil }
      let name = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
      return (PercentEncoding.encode(name, keeping: "/"), name, LineOptions(checksum: digest))
    }
  }
}
