import ArgumentParser
import DownloadModel

/// The options for reading the lists of a run.
struct ListForm {
  var format: ListFormat?
  /// Has priority over the list's own URL.
  var base: Address?
  /// For a page's links.
  var accepted: [NamePattern] = []
  /// To this depth, a page's own folders are read, too.
  var depth = 0
  /// Whether folders are made from the URLs' paths, and from their hosts.
  var keepsPaths = false
  var prefixesHost = false
  /// Whether `--directory` is given or set, which has priority over a line's `directory=`.
  var hasDirectory = false
  /// Whether a URL of the user's or of a plain list may stand for several (`--glob`).
  var expandsRanges = false
  /// Whether `ftp://` is asked over https first, at hosts that have both.
  var prefersHTTPS = true
  /// Whether a redirector's page is replaced by its target.
  var unwraps = true
  /// A URL in which `{}` is replaced by each line's text.
  var template: String?
  /// Receives the text of a file that is not a list of requests.
  var whole: WholeText?
  /// Paths of the items in JSON; each item makes a request.
  var items: String?
  /// The path of the next page's URL in JSON.
  var nextField: String?
  /// Those that it does not name are detected.
  var fields = RowFields()
  /// Selects this process's lines; `nil` for all.
  var shard: Shard?
  /// Receives each line of a sharded list, so that none becomes a request; `nil` for a line that is not a URL.
  var onLine: (@Sendable (Address?) -> Void)?

  init() {}

  /// - Throws: `ValidationError`.
  init(_ options: ListOptions, _ environment: [String: String] = [:]) throws {
    shard = try options.shard?.shard(by: options.shardBy ?? .line, environment)
    if shard == nil, options.shardBy != nil {
      throw ValidationError("--shard-by says how --shard shares a list out: give that too, such as --shard 3/20.")
    }
    accepted = options.accept.map(NamePattern.init)
    depth = Int(clamping: options.depth ?? 0)
    if options.depth != nil, accepted.isEmpty {
      throw ValidationError(
        "--depth follows the folders of a page for --accept: give that too, such as --accept '*.pdf'.")
    }
    format = options.format
    keepsPaths = options.keepPaths
    prefixesHost = options.prefixHost
    unwraps = !options.noUnwrap
    prefersHTTPS = !options.noPreferHTTPS
    expandsRanges = options.glob
    base = try options.base.map(Self.base)
    template = options.template
    if let template {
      try Self.check(template: template, format ?? .lines)
      if options.items == nil, options.urlField == nil { format = format ?? .lines }
    }
    items = options.items
    nextField = options.nextField
    try nameFields(options)
    if let preset = options.preset { self = preset.form(self) }
  }

  private mutating func nameFields(_ options: ListOptions) throws {
    var given: [RowFields.Field: String] = [:]
    given[.url] = options.urlField
    given[.name] = options.nameField
    given[.checksum] = options.checksumField
    given[.size] = options.sizeField
    let split = try options.split.map { text in
      guard let byte = text.utf8.first, text.utf8.count == 1, !byte.isLetterOrDigit else {
        throw ValidationError(
          "--split takes a separator such as ';', not \"\(text)\"; for connections per file use -s N")
      }
      return byte
    }
    // Without a URL field, items are texts.
    if template != nil, items != nil { given[.url] = given[.url] ?? "" }
    if !given.isEmpty || split != nil { fields = RowFields(names: given, split: split, template: template) }
  }

  private static func base(_ text: String) throws -> Address {
    guard let address = try? Address(text) else {
      let shown = Redaction.redactedAddress(text)
      throw ValidationError("--base \"\(shown)\" is not a URL; a base looks like https://host.example/folder/.")
    }
    return try withoutLogin("--base", address)
  }

  private static func check(template: String, _ format: ListFormat) throws {
    guard template.contains("{}"), let address = try? Address(template.replacing("{}", with: "x")),
      [.csv, .json, .lines, .tsv].contains(format)
    else {
      throw ValidationError(
        "--url-template is a URL with {} in it, for plain lists, tables and JSON: https://host/{}.pdf.")
    }
    _ = try withoutLogin("--url-template", address)
  }

  /// Otherwise each URL of the list would have the login, and be remembered with it.
  static func withoutLogin(_ option: String, _ address: Address) throws -> Address {
    guard address.hasCredentials else { return address }
    throw ValidationError(
      "\(option) \(address.redacted) has a login: leave it out there, and give it with --netrc-file or -H.")
  }

  /// Bytes that suffice to detect a format if a list has no earlier line end.
  static let telling = 4096

  /// - Parameters:
  ///   - start: decoded: at least the first line, or `telling` bytes, or all.
  ///   - name: of the list.
  ///   - beside: reads a file beside the list.
  /// - Throws: `Rejection.NoList`, or as `beside` does.
  func reader(
    of start: [UInt8], named name: String, _ beside: (String) throws -> [UInt8]? = { _ in nil }
  ) throws -> any ListFormatReader {
    if let whole { return whole }
    let format = if let format { format } else { try found(in: start, named: name) }
    if let what = ListDoubt.look(at: start), what != .page || format == .lines { throw what }
    switch format {
    case .apt: return LineByLine(FileLines.apt)
    case .aria2: return LineByLine(Aria2Lines())
    case .bagit: return try LineByLine(FileLines.bag(named: name, beside))
    case .checksums where FileLines.isBLAKE2(name): throw Rejection.NoList.checksums("BLAKE2")
    case .checksums: return LineByLine(FileLines.checksums)
    case .csv: return TableRows(fields, separator: TableRows.separator(of: start))
    case .esgf: return LineByLine(FileLines.esgf)
    case .html:
      let folders = depth > 0 ? PageFolders(depth: depth, namesFolders: !keepsPaths && !prefixesHost) : nil
      return try MarkupList(isPage: true, accepted: accepted, folders: folders)
    case .json: return JSONItems(fields, items: items, next: nextField)
    case .lines: return PlainLines(template: template, expandsRanges: expandsRanges)
    case .s5cmd: return LineByLine(S5Commands())
    case .tsv: return TableRows(fields, separator: 0x09)
    case .xml: return try MarkupList(isPage: false, accepted: [])
    }
  }

  /// Detects the format from the first bytes.
  func found(in start: [UInt8], named name: String) throws(Rejection.NoList) -> ListFormat {
    // Most lists start with http and skip the rest. Other formats that do, except a bag's, have a tab or an indented
    // line.
    let head = start.prefix(Self.telling)
    if head.starts(with: "http".utf8), fields.url == nil, !head.contains(0x09), !head.contains(0),
      head.place(of: "\n ") == nil, !name.hasSuffix("fetch.txt")
    {
      return .lines
    }
    let isPage = MarkupList.isPage(start)
    if let isPage, !isPage || !accepted.isEmpty { return isPage ? .html : .xml }
    if let what = ListDoubt.look(at: start) { throw what }
    let first = start.first { $0 > 0x20 && ![0xEF, 0xBB, 0xBF].contains($0) }
    if let first, "{[".utf8.contains(first) { return .json }
    let text = String(utf8: start.prefix(Self.telling))
    if let format = Aria2Lines.fits(text) ? .aria2 : FileLines.format(of: text, named: name) { return format }
    return TableRows.format(of: start, named: name, isAsked: fields.url != nil) ?? .lines
  }

  /// Whether the first bytes of a list suffice to detect its format: its first line, and the next one after a possible
  /// header.
  static func tells(_ start: [UInt8]) -> Bool {
    guard let end = start.firstIndex(of: 0x0A) else { return start.count >= telling }
    let isRow = start[..<end].contains { ",;\t".utf8.contains($0) } && start[..<end].place(of: "://") == nil
    return !isRow || start[(end + 1)...].contains(0x0A) || start.count >= telling
  }
}
