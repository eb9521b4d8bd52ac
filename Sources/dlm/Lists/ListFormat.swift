import ArgumentParser
import DownloadModel

/// What a list is written in (`--list-format`).
enum ListFormat: String, CaseIterable, ExpressibleByArgument {
  /// The links of a page.
  case html
  /// An address a line.
  case lines
  /// Metalink, sitemap, RSS, Atom.
  case xml
}

/// Makes requests of the blocks of one list.
protocol ListFormatReader {
  /// The line, from 1, that it has come to; 0 before the first.
  var line: Int { get }
  /// What is said of a list whose format was found out ("a table, addresses in url"), once it is known; nil for what
  /// needs no word.
  var said: String? { get }

  /// - Parameters:
  ///   - block: of decoded bytes; an empty one is the end of the list.
  ///   - base: to which relative addresses are relative.
  /// - Throws: `Rejection.NoList`, or a `DownloadError` of activity "decoding", where nothing more can be read.
  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry]
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

  init() {}

  /// - Throws: `ValidationError`.
  init(_ options: ListOptions) throws {
    accepted = options.accept.map { NamePattern($0) }
    (format, keepsPaths, prefixesHost) = (options.format, options.keepPaths, options.prefixHost)
    base = try options.base.map { text in
      guard let address = try? Address(text) else { throw ValidationError(UsageMessages.noBase(text)) }
      // Else each address of the list would have the login, and be remembered with it.
      guard !address.hasCredentials else { throw ValidationError(UsageMessages.baseWithLogin(address.redacted)) }
      return address
    }
  }

  /// Bytes that tell a format, where a list has no line end before.
  static let telling = 4096

  /// - Parameters:
  ///   - start: decoded: the first line at least, or `telling` bytes, or all.
  ///   - name: of the list.
  func reader(of start: [UInt8], named name: String) throws(Rejection.NoList) -> any ListFormatReader {
    let format = if let format { format } else { try found(in: start) }
    switch format {
    case .html: return try MarkupList(isPage: true, accepted: accepted)
    case .lines: return PlainLines()
    case .xml: return try MarkupList(isPage: false, accepted: [])
    }
  }

  /// From its first bytes.
  func found(in start: [UInt8]) throws(Rejection.NoList) -> ListFormat {
    if let isPage = MarkupList.isPage(start, takesPages: !accepted.isEmpty) { return isPage ? .html : .xml }
    if let what = ListDoubt.look(at: start) { throw what }
    return .lines
  }
}
