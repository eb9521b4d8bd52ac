import DownloadModel

/// The items of JSON documents, one after the other or one a line. Of an item only the wanted values are kept.
struct JSONItems: ListFormatReader {
  /// `features[].assets.*` in steps.
  fileprivate typealias Path = [[UInt8]]

  var line: Int { scanner.line - 1 }
  private(set) var said: String?
  private var scanner = JSONScanner()
  private var fields: RowFields
  private var items: [Path]
  /// From the top; empty until it is known where addresses are.
  private var wanted: [(field: RowFields.Field, path: Path)] = []
  private var held: [UInt8] = []
  private var values = RowFields.Values(repeating: nil, count: RowFields.Field.allCases.count)
  private var start = 1
  private var hasEnded = false
  private var hasURL = false
  private var pages: NextPage?
  /// The address of the page behind this one.
  var next: String? { pages?.found }

  /// Bytes in which the first item has to be.
  private static let room = 256 * 1024

  /// - Parameters:
  ///   - items: paths, of which `|` separates several.
  ///   - next: the path of the next page's address.
  init(_ fields: RowFields, items: String?, next: String? = nil) {
    self.fields = fields
    pages = next.map { NextPage($0) }
    self.items = items?.split(separator: "|", omittingEmptySubsequences: false).map { Self.path(String($0)) } ?? []
    if items != nil, fields.names[.url] != nil { want() }
  }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    var text = block
    if wanted.isEmpty {
      held += block
      if !find() {
        if held.count > Self.room { throw Rejection.NoList.field(fields.names[.url], among: []) }
        if !block.isEmpty { return [] }
      }
      (text, held) = (held, [])
    }
    var entries = scan(text, base)
    if block.isEmpty, !hasEnded {
      do throws(JSONScanner.Damage) { try scanner.finish() } catch { entries.append(told(error)) }
      if !hasURL, !hasEnded { throw Rejection.NoList.field(fields.names[.url], among: []) }
    }
    return entries
  }

  /// Begins another document of the same list.
  mutating func turnPage() {
    (scanner, hasEnded) = (JSONScanner(), false)
    forget()
    pages?.found = nil
  }

  private mutating func forget() { for index in values.indices { values[index] = nil } }

  private mutating func scan(_ block: [UInt8], _ base: Address?) -> [ListEntry] {
    var (entries, index): ([ListEntry], Int) = ([], 0)
    while !hasEnded {
      do throws(JSONScanner.Damage) {
        guard let event = try scanner.next(in: block, at: &index) else { break }
        let depth = scanner.path.count - (event == .began ? 1 : 0)
        pages?.note(event, scanner, depth)
        if event != .began, event != .ended {
          for want in wanted where scanner.isAt(want.path, depth) {
            values[want.field.rawValue] = event == .literal ? nil : scanner.text[...]
            hasURL = hasURL || want.field == .url
          }
        }
        guard items.contains(where: { scanner.isAt($0, depth) }) else { continue }
        if event != .ended { start = scanner.line }
        if event == .began { forget() }
        guard event != .began, values[0] != nil else { continue }
        entries += fields.entries(values, line: start, base: base)
        forget()
      } catch {
        entries.append(told(error))
      }
    }
    return entries
  }

  private mutating func told(_ damage: JSONScanner.Damage) -> ListEntry {
    let why = damage.why + (scanner.place.isEmpty ? "" : ", at \(scanner.place)")
    hasEnded = !scanner.isLines
    forget()
    scanner.recover()
    return ListEntry(line: scanner.line, content: .bad(hasEnded ? .damaged(why) : .row(why), text: ""))
  }

  // MARK: Paths

  fileprivate static func path(_ text: String) -> Path {
    text.replacing("[]", with: ".[]").split(separator: ".").map { Array($0.utf8) }
  }

  private static func text(_ path: Path) -> String {
    path.map(RowFields.shown).joined(separator: ".").replacing(".[]", with: "[]")
  }

  private mutating func want() {
    wanted = items.flatMap { item in fields.names.map { ($0.key, item + Self.path($0.value)) } }
  }

  /// Finds the first array of addresses, or of objects with a field that may hold one; else such a document.
  /// - Returns: whether it did.
  private mutating func find() -> Bool {
    var (scanner, index) = (JSONScanner(), 0)
    var top: Path?
    while let event = try? scanner.next(in: held, at: &index) {
      if event == .ended, scanner.path.isEmpty, let top { return settle([], top) }
      let path = scanner.path.map { Array(scanner.step($0)) }
      let isKnown = path.last.map { RowFields.isKnown(String(decoding: $0, as: UTF8.self)) } ?? false
      let isAddress = !isKnown && (try? Address(utf8: scanner.text)) != nil
      let url = fields.names[.url].map(Self.path) ?? (isKnown ? path.suffix(1) : [])
      guard event == .text, isKnown || isAddress || !url.isEmpty, path.suffix(url.count) == url[...] else { continue }
      let depth = path.count - url.count
      let isItem = depth > 0 && !scanner.path[depth - 1].isObject
      if items.isEmpty ? isItem : items.contains(where: { scanner.isAt($0, depth) }) {
        return settle(Array(path[..<depth]), url)
      }
      if items.isEmpty, depth == 0 { top = top ?? url }
    }
    return false
  }

  private mutating func settle(_ item: Path, _ url: Path) -> Bool {
    if items.isEmpty { items = [item] }
    fields.names[.url] = Self.text(url)
    said = "JSON, addresses in \(Self.text(item + url))"
    want()
    return true
  }
}

/// Looks for a list's next page: the text at a path, or the `href` of what has `rel` "next" there, as STAC has it.
private struct NextPage {
  var found: String?
  private let path, link, rel, href: JSONItems.Path
  private var (isNext, held): (Bool, String?) = (false, nil)

  init(_ text: String) {
    (path, link) = (JSONItems.path(text), JSONItems.path("\(text)[]"))
    (rel, href) = (link + [Array("rel".utf8)], link + [Array("href".utf8)])
  }

  mutating func note(_ event: JSONScanner.Event, _ scanner: JSONScanner, _ depth: Int) {
    if event == .text {
      if scanner.isAt(path, depth) { found = String(decoding: scanner.text, as: UTF8.self) }
      if scanner.isAt(rel, depth) { isNext = scanner.text.elementsEqual("next".utf8) }
      if scanner.isAt(href, depth) { held = String(decoding: scanner.text, as: UTF8.self) }
    } else if event == .began || event == .ended, scanner.isAt(link, depth) {
      if isNext, let held { found = held }
      (isNext, held) = (false, nil)
    }
  }
}
