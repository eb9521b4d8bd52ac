import ArgumentParser
import DownloadModel

/// What a list is written in (`--list-format`).
enum ListFormat: String, Choice {
  /// Lines are of an address each; html is the links of a page, xml Metalink, sitemap, RSS or Atom.
  case apt, aria2, bagit, checksums, html, lines, text, xml
}

/// Makes requests of the blocks of one list.
protocol ListFormatReader {
  /// The line, from 1, that it has come to; 0 before the first.
  var line: Int { get }
  /// What is said of a list whose format was found out ("a table, addresses in url"), once it is known; nil for what
  /// needs no word.
  var said: String? { get }
  /// What is said at its end; nil if there is nothing to say.
  var note: String? { get }

  /// - Parameters:
  ///   - block: of decoded bytes; an empty one is the end of the list.
  ///   - base: to which relative addresses are relative.
  /// - Throws: `Rejection.NoList`, or a `DownloadError` of activity "decoding", where nothing more can be read.
  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry]
}

extension ListFormatReader {
  var said: String? { nil }
  var note: String? { nil }
}

struct ListEntry {
  /// Counted from 1.
  let line: Int
  let content: ListLine
}

struct ListOptions: ParsableArguments {
  @Option("list-format") var format: ListFormat?
  @Option("base") var base: String?
  @Option("accept") var accept: [String] = []
  @Flag("keep-paths") var keepPaths = false
  @Flag("prefix-host") var prefixHost = false
  @Option("url-template") var template: String?
}

/// How the lists of a run are read.
struct ListForm: Sendable {
  var format: ListFormat?
  /// Stronger than the list's own address.
  var base: Address?
  /// Of a page's links.
  var accepted: [NamePattern] = []
  /// Whether folders are made of the addresses' paths, and of their hosts.
  var keepsPaths = false
  var prefixesHost = false
  /// An address with `{}` in it, for each line's text.
  var template: String?
  /// Takes the text of what is no list of requests.
  var whole: WholeText?

  init() {}

  /// - Throws: `ValidationError`.
  init(_ options: ListOptions) throws {
    accepted = options.accept.map { NamePattern($0) }
    (format, keepsPaths, prefixesHost) = (options.format, options.keepPaths, options.prefixHost)
    base = try options.base.map { text in
      guard let address = try? Address(text) else { throw ValidationError(UsageMessages.noBase(text)) }
      return try Self.withoutLogin("--base", address)
    }
    template = options.template
    guard let template else { return }
    guard template.contains("{}"), let address = try? Address(template.replacing("{}", with: "x")),
      format ?? .lines == .lines
    else { throw ValidationError(UsageMessages.noTemplate) }
    _ = try Self.withoutLogin("--url-template", address)
    format = .lines
  }

  /// Else each address of the list would have the login, and be remembered with it.
  static func withoutLogin(_ option: String, _ address: Address) throws -> Address {
    guard !address.hasCredentials else { throw ValidationError(UsageMessages.login(option, address.redacted)) }
    return address
  }

  /// Bytes that tell a format, where a list has no line end before.
  static let telling = 4096

  /// - Parameters:
  ///   - start: decoded: the first line at least, or `telling` bytes, or all.
  ///   - name: of the list.
  func reader(of start: [UInt8], named name: String) throws(Rejection.NoList) -> any ListFormatReader {
    if let whole { return whole }
    let format = if let format { format } else { try found(in: start, named: name) }
    if let what = ListDoubt.look(at: start), what != .page || format == .lines { throw what }
    switch format {
    case .apt: return LineByLine(FileLines.apt)
    case .aria2: return LineByLine(Aria2Lines())
    case .bagit: return LineByLine(FileLines.bag(named: name))
    // Without a tag, these look like those of SHA-512.
    case .checksums where name.lowercased().contains("b2sum"): throw .blake2
    case .checksums: return LineByLine(FileLines.checksums)
    case .html: return try MarkupList(isPage: true, accepted: accepted)
    case .lines: return PlainLines(template: template)
    case .text: return LineByLine(TextLines())
    case .xml: return try MarkupList(isPage: false, accepted: [])
    }
  }

  /// From its first bytes.
  func found(in start: [UInt8], named name: String) throws(Rejection.NoList) -> ListFormat {
    if let isPage = MarkupList.isPage(start, takesPages: !accepted.isEmpty) { return isPage ? .html : .xml }
    if let what = ListDoubt.look(at: start) { throw what }
    let text = String(decoding: start.prefix(Self.telling), as: UTF8.self)
    return Aria2Lines.fits(text) ? .aria2 : FileLines.format(of: text, named: name) ?? .lines
  }
}
