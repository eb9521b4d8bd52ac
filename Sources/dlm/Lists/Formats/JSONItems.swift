import DownloadModel
import TerminalProgress

/// The items of JSON documents, consecutive or one a line. Only the wanted values of an item are kept.
struct JSONItems: ListFormatReader {
  /// `features[].assets.*` as steps.
  fileprivate typealias Path = [[UInt8]]

  var line: Int { scanner.line - 1 }
  private(set) var said: String?
  private(set) var used: String?
  /// Files that are contained in another file of the list.
  private var contained = 0
  var note: String? {
    contained == 0 ? nil : "\(Quantity.files(contained)) inside archives not downloaded: the archives are"
  }
  private var scanner = JSONScanner()
  private var fields: RowFields
  private var items: [Path]
  /// From the top; empty until the URL field is known.
  private var wanted: [(field: RowFields.Field, path: Path)] = []
  private var held: [UInt8] = []
  private var values = RowFields.Values(repeating: nil, count: RowFields.Field.allCases.count)
  private var start = 1
  private var hasEnded = false
  private var hasURL = false
  private var pages: NextPage?
  /// Fields of an item without the URL field.
  private var others: [String] = []
  /// The URL of the next page.
  var next: String? { pages?.found }

  /// The first item must be within this many bytes.
  private static let room = 256 * 1024

  /// - Parameters:
  ///   - items: one or several paths, separated by `|`.
  ///   - next: the path of the next page's URL.
  init(_ fields: RowFields, items: String?, next: String?) {
    self.fields = fields
    pages = next.map(NextPage.init)
    self.items = items?.split(separator: "|", omittingEmptySubsequences: false).map { Self.path(String($0)) } ?? []
    if items != nil, !fields.optional.isEmpty { want() }
  }

  mutating func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    var text = block
    if wanted.isEmpty {
      held += block
      let isLast = block.isEmpty || held.count > Self.room
      try find(isLast: isLast)
      if wanted.isEmpty {
        if held.count > Self.room { throw none }
        if !isLast { return [] }
      }
      text = held
      held = []
    }
    var entries = scan(text, base)
    if block.isEmpty, !hasEnded {
      do { try scanner.finish() } catch { entries.append(told(error)) }
      if !hasURL, !hasEnded { throw none }
    }
    return entries
  }

  private var none: Rejection.NoList {
    .field(fields.url.map { Self.text((items.first ?? []) + Self.path($0)) }, among: others)
  }

  /// Starts another document of the same list.
  mutating func turnPage() {
    scanner = JSONScanner()
    hasEnded = false
    forget()
    pages?.found = nil
  }

  private mutating func forget() { for index in values.indices { values[index] = nil } }

  private mutating func scan(_ block: [UInt8], _ base: Address?) -> [ListEntry] {
    var entries: [ListEntry] = []
    var index = 0
    while !hasEnded {
      do {
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
        if event == .began {
          forget()
          continue
        }
        if values[0] == nil { continue }
        if values[RowFields.Field.container.rawValue] == nil {
          entries += fields.entries(values, line: start, base: base)
        } else {
          contained += 1
        }
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
    wanted = items.flatMap { item in
      fields.names.filter { $0.value != RowFields.none }.flatMap { field, name in
        name.split(separator: "|", omittingEmptySubsequences: false).map { (field, item + Self.path(String($0))) }
      }
    }
  }

  /// Looks for the first item that has a URL: an element of an array, else the document itself.
  /// - Parameter isLast: whether no more of the list is available.
  /// - Throws: the candidates if several fields contain URLs.
  private mutating func find(isLast: Bool) throws(Rejection.NoList) {
    var scanner = JSONScanner()
    var index = 0
    /// Texts and numbers of the open items, by the items' depth.
    var open: [Int: [FieldSample]] = [:]
    var chosen: Int?
    while wanted.isEmpty, let event = try? scanner.next(in: held, at: &index) {
      let depth = scanner.path.count
      if event == .ended, let values = open.removeValue(forKey: depth) {
        if depth == chosen ?? 0 {
          chosen = nil
          try settle(scanner.names, values)
        } else if others.isEmpty, fields.url != nil {
          others = values.map(\.name)
        }
      }
      guard event == .text || event == .number, let start = itemDepth(scanner) else { continue }
      let path = scanner.names
      if isSTAC(path) { continue }
      open[start, default: []].append(FieldSample(Self.text(Array(path[start...])), [scanner.text[...]]))
      if start > 0 || !items.isEmpty, mayBeURL(path[start...], scanner.text) { chosen = chosen ?? start }
      if start == depth, let value = open.removeValue(forKey: depth), chosen == depth {
        chosen = nil
        try settle(path, value)
      }
    }
    guard isLast, wanted.isEmpty else { return }
    // The item is too long, or damaged.
    let start = chosen ?? 0
    if let values = open[start] { try settle(Array(scanner.names.prefix(start)), values) }
    if wanted.isEmpty, !items.isEmpty, fields.url != nil { want() }
  }

  /// - Returns: the depth of the item around the current value; `nil` if it is in none.
  private func itemDepth(_ scanner: JSONScanner) -> Int? {
    if items.isEmpty { return (scanner.path.lastIndex { !$0.isObject } ?? -1) + 1 }
    return items.first { $0.count <= scanner.path.count && scanner.isAt($0, $0.count) }?.count
  }

  private func mayBeURL(_ path: ArraySlice<[UInt8]>, _ text: [UInt8]) -> Bool {
    if let url = fields.url { return Self.path(url)[...] == path }
    return path.last.map { FieldSample.isKnown(String(utf8: $0)) } == true
      || (try? Address(utf8: text)) != nil
  }

  private mutating func settle(_ item: Path, _ samples: [FieldSample]) throws(Rejection.NoList) {
    var url = fields.url
    if url == nil { url = try FieldSample.urls(of: samples)?.name }
    guard let url, samples.contains(where: { $0.name == url }) else {
      others = samples.map(\.name)
      return
    }
    if items.isEmpty { items = [item] }
    if fields.url == nil { said = "JSON, URLs in \(Self.text(item + Self.path(url)))" }
    fields.url = url
    used = fields.find(in: samples)
    want()
  }

  /// Recognises a STAC document by its fields, without the preset. Its `stac_extensions` are not files.
  private mutating func isSTAC(_ path: Path) -> Bool {
    guard items.isEmpty, fields.url == nil, path.contains(where: { $0.starts(with: "stac_".utf8) }) else {
      return false
    }
    var form = ListForm()
    form.fields = fields
    form = Preset(argument: "stac")?.form(form) ?? form
    let held = self.held
    self = JSONItems(form.fields, items: form.items, next: form.nextField)
    self.held = held
    said = "STAC, URLs in the assets"
    return true
  }
}

/// Finds a list's next page: the text at a path, or the `href` of a link there with `rel` "next", as in STAC.
private struct NextPage {
  var found: String?
  private let path, link, rel, href: JSONItems.Path
  private var isNext = false
  private var held: String?

  init(_ text: String) {
    path = JSONItems.path(text)
    link = JSONItems.path("\(text)[]")
    rel = JSONItems.path("\(text)[].rel")
    href = JSONItems.path("\(text)[].href")
  }

  mutating func note(_ event: JSONScanner.Event, _ scanner: JSONScanner, _ depth: Int) {
    if event == .text {
      if scanner.isAt(path, depth) { found = String(utf8: scanner.text) }
      if scanner.isAt(rel, depth) { isNext = scanner.text.elementsEqual("next".utf8) }
      if scanner.isAt(href, depth) { held = String(utf8: scanner.text) }
    } else if event == .began || event == .ended, scanner.isAt(link, depth) {
      if isNext, let held { found = held }
      isNext = false
      held = nil
    }
  }
}
