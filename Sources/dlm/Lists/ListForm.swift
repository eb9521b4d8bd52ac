import ArgumentParser
import DownloadModel
import FileReceiving

/// How the lists of a run are read.
struct ListForm {
  var format: ListFormat?
  /// Stronger than the list's own address.
  var base: Address?
  /// Of a page's links.
  var accepted: [NamePattern] = []
  /// How far down a page's own folders are read, too.
  var depth = 0
  /// Whether folders are made of the addresses' paths, and of their hosts.
  var keepsPaths = false
  var prefixesHost = false
  /// Whether `--directory` is given or set, which is stronger than a line's `directory=`.
  var hasDirectory = false
  /// Whether a URL of the user's or of a plain list may stand for several (`--glob`).
  var expandsRanges = false
  /// Whether a page of a redirector stands for where it leads.
  var unwraps = true
  /// An address with `{}` in it, for each line's text.
  var template: String?
  /// Takes the text of what is no list of requests.
  var whole: WholeText?
  /// Paths of what makes a request each, in JSON.
  var items: String?
  /// The path of what names the next page of JSON.
  var nextField: String?
  /// Nil for what is found out.
  var fields: RowFields?
  /// Which of its lines are this process's; nil for all.
  var shard: Shard?
  /// Takes each line of a list that is shared out, so that none becomes a request; nil for what is no address.
  var onLine: (@Sendable (Address?) -> Void)?

  init() {}

  /// - Throws: `ValidationError`.
  init(_ options: ListOptions, _ environment: [String: String] = [:]) throws {
    shard = try options.shard?.shard(by: options.shardBy ?? .line, environment)
    if shard == nil, options.shardBy != nil {
      throw ValidationError("--shard-by says how --shard shares a list out: give that too, such as --shard 3/20.")
    }
    accepted = options.accept.map(NamePattern.init)
    depth = options.depth.map { Int(clamping: $0) } ?? 0
    if options.depth != nil, accepted.isEmpty {
      throw ValidationError(
        "--depth follows the folders of a page for --accept: give that too, such as --accept '*.pdf'.")
    }
    format = options.format
    keepsPaths = options.keepPaths
    prefixesHost = options.prefixHost
    unwraps = !options.noUnwrap
    expandsRanges = options.glob
    base = try options.base.map { text in
      guard let address = try? Address(text) else {
        let shown = Redaction.redactedAddress(text)
        throw ValidationError("--base \"\(shown)\" is not a URL; a base looks like https://host.example/folder/.")
      }
      return try Self.withoutLogin("--base", address)
    }
    template = options.template
    if let template {
      guard template.contains("{}"), let address = try? Address(template.replacing("{}", with: "x")),
        [.csv, .json, .lines, .tsv].contains(format ?? .lines)
      else {
        throw ValidationError(
          "--url-template is a URL with {} in it, for plain lists, tables and JSON: https://host/{}.pdf.")
      }
      _ = try Self.withoutLogin("--url-template", address)
      if options.items == nil, options.urlField == nil { format = format ?? .lines }
    }
    items = options.items
    nextField = options.nextField
    try nameFields(options)
    if let preset = options.preset { self = preset.form(self) }
  }

  private mutating func nameFields(_ options: ListOptions) throws {
    let names: [RowFields.Field: String?] = [
      .url: options.urlField, .name: options.nameField, .checksum: options.checksumField, .size: options.sizeField,
    ]
    let split = try options.split.map { text in
      guard let byte = text.utf8.first, text.utf8.count == 1, !byte.isLetterOrDigit else {
        throw ValidationError(
          "--split takes a separator such as ';', not \"\(text)\"; for connections per file use -s N")
      }
      return byte
    }
    var given = names.compactMapValues(\.self)
    // Then items are texts.
    if template != nil, items != nil { given[.url] = given[.url] ?? "" }
    if !given.isEmpty || split != nil { fields = RowFields(names: given, split: split, template: template) }
  }

  /// Else each address of the list would have the login, and be remembered with it.
  static func withoutLogin(_ option: String, _ address: Address) throws -> Address {
    guard address.hasCredentials else { return address }
    throw ValidationError(
      "\(option) \(address.redacted) has a login: leave it out there, and give it with --netrc-file or -H.")
  }

  /// Bytes that tell a format, where a list has no line end before.
  static let telling = 4096

  /// - Parameters:
  ///   - start: decoded: the first line at least, or `telling` bytes, or all.
  ///   - name: of the list.
  ///   - beside: gives a file that stands beside it.
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
    case .csv: return TableRows(fields ?? RowFields(), separator: TableRows.separator(of: start))
    case .html:
      let folders = depth > 0 ? PageFolders(depth: depth, namesFolders: !keepsPaths && !prefixesHost) : nil
      return try MarkupList(isPage: true, accepted: accepted, folders: folders)
    case .json: return JSONItems(fields ?? RowFields(), items: items, next: nextField)
    case .lines: return PlainLines(template: template, expandsRanges: expandsRanges)
    case .s5cmd: return LineByLine(S5Commands())
    case .text: return LineByLine(TextLines())
    case .tsv: return TableRows(fields ?? RowFields(), separator: 0x09)
    case .xml: return try MarkupList(isPage: false, accepted: [])
    }
  }

  /// From its first bytes.
  func found(in start: [UInt8], named name: String) throws(Rejection.NoList) -> ListFormat {
    // Most lists begin so, and are spared the rest: but for a bag's, what else does has a tab or an indented line.
    let head = start.prefix(Self.telling)
    if head.starts(with: "http".utf8), fields?.names[.url] == nil, !head.contains(0x09), !head.contains(0),
      !zip(head, head.dropFirst()).contains(where: { $0 == 0x0A && $1 == 0x20 }), !name.hasSuffix("fetch.txt")
    {
      return .lines
    }
    if let isPage = MarkupList.isPage(start, takesPages: !accepted.isEmpty) { return isPage ? .html : .xml }
    if let what = ListDoubt.look(at: start) { throw what }
    let first = start.first { $0 > 0x20 && ![0xEF, 0xBB, 0xBF].contains($0) }
    if let first, "{[".utf8.contains(first) { return .json }
    let text = String(utf8: start.prefix(Self.telling))
    if let format = Aria2Lines.fits(text) ? .aria2 : FileLines.format(of: text, named: name) { return format }
    return TableRows.format(of: start, named: name, isAsked: fields?.names[.url] != nil) ?? .lines
  }

  /// Whether the beginning of a list tells its format: its first line, and the next one below what may be a header.
  static func tells(_ start: [UInt8]) -> Bool {
    guard let end = start.firstIndex(of: 0x0A) else { return start.count >= telling }
    let isRow = start[..<end].contains { ",;\t".utf8.contains($0) } && start[..<end].firstRange(of: "://".utf8) == nil
    return !isRow || start[(end + 1)...].contains(0x0A) || start.count >= telling
  }
}
