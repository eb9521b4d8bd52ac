import DownloadModel

/// Lists in XML and HTML, recognised by their root: Metalink 4 (RFC 5854) and 3, sitemaps and their indexes
/// (sitemaps.org), the enclosures of RSS 2.0 and Atom (RFC 4287), and the links of a page.
struct MarkupList: ListFormatReader {
  private enum Kind: String {
    case metalink, urlset, sitemapindex, rss, feed, html

    var said: String {
      switch self {
      case .metalink: "a Metalink"
      case .urlset: "a sitemap"
      case .sitemapindex: "an index of sitemaps, which are downloaded as files"
      case .rss, .feed: "a feed, whose enclosures are downloaded"
      case .html: "a web page, whose links are downloaded"
      }
    }
  }

  private var parser: MarkupParser
  /// Patterns of a page's links; empty for all links.
  private let accepted: [NamePattern]
  private let isPage: Bool
  private var kind: Kind?
  /// The root's namespace; names of other namespaces are ignored.
  private var namespace = ""
  /// For each open element: the prefixes of that namespace, with an empty one for names without prefix.
  private var prefixes: [Set<Substring>] = []
  private static let mostPrefixes = 16
  private var path: [Substring] = []
  /// The text of the current element, if it is wanted.
  private var text: String?
  /// The attributes of the current element.
  private var attributes: [String: String] = [:]
  private var file = MetalinkFile()
  /// The page's own base (`<base href>`).
  private var pageBase: Address?
  private var pageLinks: Set<String> = []
  /// The first names of a page's links that `--accept` does not match.
  private var others: [String] = []
  /// A page's folders, which are read, too; `nil` without `--depth`.
  var folders: PageFolders?
  private var isDamaged = false
  private var base: Address?
  /// The entries of the current block so far.
  private var entries: [ListEntry] = []
  private static let deepest = 128
  private(set) var line = 0

  var said: String? { kind?.said }

  init(isPage: Bool, accepted: [NamePattern], folders: PageFolders? = nil) throws(Rejection.NoList) {
    parser = try MarkupParser(isHTML: isPage)
    self.isPage = isPage
    self.accepted = accepted
    self.folders = folders
    if isPage { kind = .html }
  }

  /// Prepares for the page of a folder.
  mutating func turnPage() throws(Rejection.NoList) {
    parser = try MarkupParser(isHTML: true)
    pageBase = nil
    text = nil
    line = 0
    isDamaged = false
  }

  /// Whether a document is HTML; `nil` if it is neither XML nor HTML.
  static func isPage(_ start: [UInt8]) -> Bool? {
    let text = start.prefix(4096).drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }
    guard text.first == UInt8(ascii: "<") else { return nil }
    let head = String(utf8: text).lowercased()
    guard let root = Self.root(of: head[...]) else { return nil }
    return root.isEmpty ? !head.hasPrefix("<?xml") : pageElements.contains(root)
  }

  /// Elements with which a page may start; a browser adds those that are omitted.
  private static let pageElements = Set(
    """
    a body center div form h1 h2 h3 head hr html img link meta p pre script span style table title ul
    """.split(separator: " "))

  /// - Parameter head: of a document, in lower case.
  /// - Returns: its first element after declarations and comments, empty if it is not in `head`; `nil` if it is no
  ///   markup.
  private static func root(of head: Substring) -> Substring? {
    var rest = head
    for (start, end) in [("<!--", "-->"), ("<?", "?>"), ("<!", ">")] where rest.hasPrefix(start) {
      if rest.hasPrefix("<!doctype html") { return "html" }
      guard let end = rest.firstRange(of: end)?.upperBound else { return "" }
      rest = rest[end...].drop(while: \.isWhitespace)
      return rest.isEmpty ? "" : root(of: rest)
    }
    let name = rest.dropFirst().prefix { $0.isLetter || $0.isNumber || ":-_".contains($0) }
    guard rest.first == "<", name.first?.isLetter == true, !rest[name.endIndex...].hasPrefix("//") else { return nil }
    return name
  }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    self.base = base
    entries = []
    if let base { folders?.begin(at: base) }
    let trouble = try parser.take(block) { event, line in
      if isDamaged { return }
      self.line = line - 1
      if path.count > Self.deepest { return damaged("its elements are nested too deeply") }
      switch event {
      case .start(let name, let attributes):
        self.attributes = attributes
        try start(name)
      case .text(let more):
        // A longer text is not a URL, and is rejected as one.
        if let text, text.utf8.count <= ListLine.limit { self.text = text + more }
      case .end(let name): end(name)
      }
    }
    if let trouble, !isDamaged { damaged(trouble) }
    if block.isEmpty, folders == nil { try checkLinks() }
    return entries
  }

  /// - Throws: if `--accept` has matched no link.
  func checkLinks() throws(Rejection.NoList) {
    if !accepted.isEmpty, pageLinks.isEmpty { throw .unmatched(others) }
  }

  private mutating func damaged(_ why: String) {
    isDamaged = true
    add(.bad(.damaged(why), text: ""))
  }

  private mutating func start(_ full: Substring) throws(Rejection.NoList) {
    if kind == nil {
      let root = full.split(separator: ":").last ?? ""
      guard let kind = Kind(rawValue: String(root)), kind != .html else { throw Rejection.NoList.markup("\(root)") }
      self.kind = kind
      let prefix = full.dropLast(root.count + 1)
      namespace = attributes[prefix.isEmpty ? "xmlns" : "xmlns:\(prefix)"] ?? ""
      prefixes = [[prefix]]
    }
    // HTML elements need no end tag.
    let name = isPage ? full : local(full)
    if !isPage { path.append(name) }
    text = ["loc", "url", "size", "hash"].contains(name) ? "" : nil
    switch (kind, name) {
    case (.metalink, "file") where ["files", "metalink"].contains(path.dropLast().last):
      file = MetalinkFile(name: attributes["name"])
    case (.metalink, "pieces") where [["pieces"], ["verification", "pieces"]].contains(place):
      file.beginPieces(attributes)
    case (.rss, "enclosure"): add(attributes["url"], size: attributes["length"])
    case (.feed, "link") where attributes["rel"] == "enclosure":
      add(attributes["href"], size: attributes["length"])
    case (.html, "base"): pageBase = attributes["href"].flatMap { Self.line($0, base).address } ?? pageBase
    case (.html, "a"), (.html, "area"): try addLink(attributes["href"])
    case (.html, "img"), (.html, "source"), (.html, "audio"), (.html, "video"):
      try addLink(attributes["src"])
    default: break
    }
  }

  private mutating func end(_ full: Substring) {
    let parent = path.dropLast().last
    switch (kind, path.last ?? full, text) {
    case (.urlset, "loc", let text?) where parent == "url", (.sitemapindex, "loc", let text?) where parent == "sitemap":
      add(text)
    case (.metalink, "file", _) where parent == "files" || parent == "metalink": add(file.content(base))
    case (.metalink, _, let text?): take(text)
    default: break
    }
    text = nil
    if !isPage {
      path.removeLast()
      prefixes.removeLast()
    }
  }

  /// The elements below a Metalink's `<file>`, down to the current one. Elsewhere equal names mean something else:
  /// Fedora's lists have the hashes of older versions below `<mm0:alternates>`, and a publisher has a `<url>`.
  private var place: [Substring] { path.lastIndex(of: "file").map { Array(path[($0 + 1)...]) } ?? [] }

  private mutating func take(_ text: String) {
    switch place {
    case ["size"]: file.size = text
    case ["url"], ["resources", "url"]: file.add(text, attributes)
    case ["pieces", "hash"], ["verification", "pieces", "hash"]: file.addPiece(text, attributes["piece"])
    case ["hash"], ["verification", "hash"]:
      if let algorithm = MetalinkFile.algorithm(attributes) { file.sums.append((algorithm, text)) }
    default: break
    }
  }

  /// Opens an element.
  /// - Returns: its name without the prefix of the list's namespace; with a colon, if it has another namespace.
  private mutating func local(_ full: Substring) -> Substring {
    var own = prefixes.last ?? []
    for (name, value) in attributes where name == "xmlns" || name.hasPrefix("xmlns:") {
      let prefix = name.dropFirst(6)
      if value != namespace { own.remove(prefix) } else if own.count < Self.mostPrefixes { own.insert(prefix) }
    }
    prefixes.append(own)
    let (prefix, name) = full.halves(at: ":")
    return own.contains(name == nil ? "" : prefix) ? name ?? full : ":\(full)"
  }

  private mutating func add(_ text: String?, size: String? = nil) {
    guard let text else { return }
    let content = Self.line(text, base)
    guard let address = content.address, let bytes = size.flatMap({ Int64($0) }), bytes > 0, bytes < 1 << 49
    else { return add(content) }
    add(.address(address, LineOptions(estimate: bytes)))
  }

  private mutating func add(_ content: ListLine) { entries.append(ListEntry(line: line + 1, content: content)) }

  /// URLs that dlm cannot download (`mailto:`), folders, and links that sort the page are no links to files.
  private mutating func addLink(_ text: String?) throws(Rejection.NoList) {
    // The page of a folder may redirect to another place.
    if let folders, let page = self.base, !folders.hold(page) { return }
    let base = pageBase ?? base
    guard let text, !text.isEmpty, text.unicodeScalars.first != "#" else { return }
    guard let address = Self.line(text, base).address else {
      if base == nil, !text.unicodeScalars.contains(":") { throw .noBase }
      return
    }
    if address.lastPathSegment.isEmpty {
      folders?.add(address)
      return
    }
    if !accepted.isEmpty, !accepted.contains(where: { $0.matches(address) }) {
      let name = ListLine.shown(String(address.lastPathSegment))
      if others.count < 6, !others.contains(name) { others.append(name) }
      return
    }
    guard pageLinks.count >= 1 << 16 || pageLinks.insert(address.key).inserted
    else { return }
    add(.address(address, folders?.folder(of: address).map { LineOptions(folder: $0) }))
  }

  /// A URL may be on an indented line of its own.
  fileprivate static func line(_ text: String, _ base: Address?) -> ListLine {
    ListLine(text.utf8.filter { $0 >= 0x20 }, base: base)
  }
}

/// A `<file>` of a Metalink while it is read.
private struct MetalinkFile {
  var name: String?
  var size: String?
  var sums: [(algorithm: ContentDigest.Algorithm, text: String)] = []
  /// The piece hashes of the strongest algorithm.
  var pieces: (algorithm: ContentDigest.Algorithm, length: Int64, hashes: [UInt8])?
  var takesPieces = false
  /// An invalid piece.
  var badPiece: String?
  var addresses: [(text: String, rank: Int)] = []

  /// More mirrors are not needed.
  private static let most = 64
  /// The lowest rank (RFC 5854 §4.1.2.1).
  private static let lowest = 999_999

  /// Version 4 has priorities from 1, version 3 preferences up to 100.
  mutating func add(_ address: String, _ attributes: [String: String]) {
    func rank(_ name: String) -> Int? { attributes[name].flatMap(Int.init).map { min(max($0, 0), Self.lowest) } }
    let rank = rank("priority") ?? rank("preference").map { -$0 } ?? Self.lowest
    if addresses.count < Self.most { addresses.append((address, rank)) }
  }

  static func algorithm(_ attributes: [String: String]) -> ContentDigest.Algorithm? {
    attributes["type"].flatMap { ContentDigest.Algorithm(rawValue: $0.lowercased().filter { $0 != "-" }) }
  }

  mutating func beginPieces(_ attributes: [String: String]) {
    takesPieces = false
    guard let algorithm = Self.algorithm(attributes), let length = attributes["length"].flatMap({ Int64($0) }),
      length > 0, algorithm.length > pieces?.algorithm.length ?? 0
    else { return }
    pieces = (algorithm, length, [])
    takesPieces = true
  }

  /// - Parameter number: from 0, as in version 3.
  mutating func addPiece(_ text: String, _ number: String?) {
    guard takesPieces, badPiece == nil, let algorithm = pieces?.algorithm, let bytes = pieces?.hashes.count
    else { return }
    let sum = text.filter { !$0.isWhitespace }
    let count = bytes / algorithm.length
    let digest = ContentDigest(algorithm, hex: sum)
    if count == PieceHashes.most { return badPiece = "more than \(count) pieces" }
    guard let digest, number ?? "\(count)" == "\(count)" else {
      return badPiece = "piece \(number ?? "\(count)")=\(sum)"
    }
    pieces?.hashes += digest.bytes
  }

  /// URLs that dlm cannot download (ftp, BitTorrent) are ignored if there is another.
  func content(_ base: Address?) -> ListLine {
    // Equal ranks keep their order.
    let sorted = addresses.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
    let lines = sorted.map { MarkupList.line($0.element.text, base) }
    let usable = lines.compactMap(\.address)
    guard let first = usable.first else {
      return lines.first ?? .bad(.malformed(.empty), text: name ?? "")
    }
    do {
      return .address(first, try options(mirrors: Array(usable.dropFirst())))
    } catch { return .bad(error, text: first.redacted) }
  }

  private func options(mirrors: [Address]) throws(Rejection.Reason) -> LineOptions {
    var options = LineOptions(mirrors: mirrors)
    if let name, !options.setPath(name) { throw .option("file name=\"\(name)\"") }
    let length = size.map { $0.filter { !$0.isWhitespace } } ?? ""
    options.size = Int64(length)
    if !length.isEmpty, options.size ?? -1 < 0 { throw .field("size=\(length)") }
    for (algorithm, text) in sums {
      let sum = text.filter { !$0.isWhitespace }
      if !options.set("\(algorithm)", sum) { throw .field("\(algorithm)=\(sum)") }
    }
    if let badPiece { throw .field(badPiece) }
    options.pieces = pieces.map { PieceHashes($0.algorithm, length: $0.length, $0.hashes) }
    if options.size == 0, pieces?.hashes.isEmpty == true { options.pieces = nil }
    if let size = options.size, let pieces = options.pieces, !pieces.cover(size) {
      throw .field("\(pieces.count) pieces of \(pieces.length) bytes for a size of \(size)")
    }
    return options
  }
}
