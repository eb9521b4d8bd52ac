import DownloadCaching
import DownloadModel
import FileReceiving
import Glibc
import RunDoors
import Synchronization
import SystemPackage

// Long because: it reads a list's bytes into requests, page by page, and handles each failure on the way.

/// The requests of a run, in the order in which sources were named. Lists are read in blocks as requests are needed, so
/// that a slow pipe blocks nothing else and an endless one is never held in memory. An actor on a thread that may
/// block.
actor ListReader: RequestSource {
  private nonisolated let executor = BlockingExecutor(label: "list-reader")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var sources: ArraySlice<Source>
  private let feed: ProgressFeed
  private var fetching: ListAtAddress.Fetching?
  private let wantsWholeLines: Bool
  private let countsOnly: Bool
  private let followsFiles: Bool
  private let onRead: @Sendable (Reading) -> Void
  private let onFormat: @Sendable (String) -> Void
  private let onReject: @Sendable (Rejection) -> Void
  private nonisolated let interruption = Interruption()
  private nonisolated let buffer = Lock(Buffer())
  nonisolated let names: NameNumbers
  private var made: ListedRequests
  private var open: OpenList?
  private var expansion: Expansion?
  /// Those of the blocks that are being read.
  private var requests: [DownloadRequest] = []

  /// Where a URL stands.
  fileprivate struct Place {
    let source: Source
    var line: Int?
    /// Its list's URL; `nil` if the user wrote the list.
    var list: Address?
    /// Who chose its names, according to the list's format.
    var naming = Provenance.user

    func rejection(_ reason: Rejection.Reason, _ text: String) -> Rejection {
      Rejection(list: source.name, line: line, text: text, reason: reason)
    }
  }

  /// The remaining URLs of a range.
  private struct Expansion {
    var ranges: URLRanges
    let place: Place
    var base: Address?
  }

  private struct Buffer {
    /// The next request is last, so that it is taken without a copy.
    var requests: [DownloadRequest] = []
    var isComplete = false
    var outlook = SourceOutlook()
  }

  struct Reading {
    var count: Int
    /// `nil` unless the last source was read to its end, and none broke off.
    var listDigest: String?
    /// Whether the list from standard input is stored.
    var isKept = false
    /// Whether some of its URLs had logins, which are not stored.
    var spooledLogins = false
  }

  private struct OpenList {
    let source: Source
    let bytes: Bytes
    /// As the user wrote it.
    var address: Address?
    let form: ListForm
    var offset: Int64 = 0
    var length: Int64 = 0
    var decoder = ListDecoder()
    var start: [UInt8] = []
    /// `nil` until its first bytes have shown the format.
    var reader: (any ListFormatReader)?
    /// Whether its detected format and fields were reported.
    var isSaid = false
    var doubt = ListDoubt()
    var hasEnded = false
    /// The URLs of its pages up to this one.
    var pages: Set<Address> = []
    /// Entries after a range of URLs.
    var rest: ArraySlice<ListEntry> = []
    var isAtEnd: Bool { hasEnded && !decoder.isPending && rest.isEmpty }
    var base: Address? {
      if case .arriving(let arriving) = bytes { return form.base ?? arriving.bytes.base }
      return form.base
    }

    enum Bytes {
      case file(FileDescriptor)
      case arriving(ListAtAddress)
    }
  }

  /// - Parameters:
  ///   - names: numbers the names of the whole run.
  ///   - first: the number of its first request.
  ///   - wantsWholeLines: skips a last line without its end, because more of it may follow.
  ///   - countsOnly: reports the number of requests to the feed, and returns none.
  ///   - followsFiles: reads no pipe, because it would wait for it.
  ///   - onRead: called after each block, on the reader's thread.
  init(
    _ sources: [Source], _ marks: RequestMarks = RequestMarks(), feed: ProgressFeed = ProgressFeed(),
    fetching: ListAtAddress.Fetching? = nil, names: NameNumbers = NameNumbers(), first: Int = 0,
    wantsWholeLines: Bool = false, countsOnly: Bool = false, followsFiles: Bool = false, spool: ListSpool? = nil,
    onRead: @escaping @Sendable (Reading) -> Void = { _ in },
    onFormat: @escaping @Sendable (_ said: String) -> Void = { _ in },
    onReject: @escaping @Sendable (Rejection) -> Void = { _ in }
  ) {
    self.sources = sources[...]
    self.feed = feed
    self.fetching = fetching
    self.fetching?.onWait = { feed.awaits(ListMessages.reading($0, after: $1)) }
    self.wantsWholeLines = wantsWholeLines
    self.onRead = onRead
    self.onFormat = onFormat
    self.onReject = onReject
    self.names = names
    self.countsOnly = countsOnly
    self.followsFiles = followsFiles
    made = ListedRequests(marks: marks, names: names, spool: spool, count: first)
  }

  nonisolated func all() async -> [DownloadRequest] {
    var requests: [DownloadRequest] = []
    while let request = await next() { requests.append(request) }
    return requests
  }

  static func digest(
    of sources: [Source], _ form: ListForm = ListForm(), fetching: ListAtAddress.Fetching? = nil
  ) async -> String {
    let reader = ListReader(sources, RequestMarks(form: form), fetching: fetching)
    while await reader.next() != nil {}
    return await reader.listDigest
  }

  /// Equal for equal URLs in equal order; valid once all is read.
  var listDigest: String { made.listed.text() }

  /// Covers all lines, including those of other shards; `nil` if the list is not sharded.
  var share: JSONValue? { made.form.shard?.json(of: &made.whole) }

  /// Lists from https that contain http URLs.
  var downgrading: Set<String> { made.downgrading }

  private var isAtEnd: Bool { open == nil && sources.isEmpty && expansion == nil }
  var isWhole: Bool { isAtEnd && !made.isBrokenOff }

  // MARK: Requests that were read

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    while true {
      let (request, isComplete) = buffer.withLock { ($0.requests.popLast(), $0.isComplete) }
      if request != nil || isComplete { return request }
      await withTaskCancellationHandler {
        await refill()
      } onCancel: {
        interruption.raise()
      }
    }
  }

  nonisolated func takeAtOnce() -> DownloadRequest? { buffer.withLock { $0.requests.popLast() } }

  nonisolated var outlook: SourceOutlook {
    buffer.withLock { buffer in
      var outlook = buffer.outlook
      if outlook.left != nil { outlook.left = buffer.requests.count }
      return outlook
    }
  }

  /// Skips the rest of the list.
  nonisolated func stop() {
    interruption.raise()
    put(Buffer(isComplete: true))
  }

  /// A stopped source stays stopped, even if a block was being read.
  private nonisolated func put(_ more: Buffer) { buffer.withLock { if !$0.isComplete { $0 = more } } }

  private func refill() {
    // Another lane may have done so. Its empty array is reused, because each new one would use other memory.
    let mustFill: Bool
    (requests, mustFill) = buffer.withLock { buffer in
      defer { if buffer.requests.isEmpty { buffer.requests = [] } }
      return buffer.requests.isEmpty ? (buffer.requests, !buffer.isComplete) : ([], false)
    }
    guard mustFill else { return }
    var weight = 0
    while mayRead(beyond: weight), case let count = requests.count, readBlock() {
      // 16 KiB of hashes count like a request: 64 MiB of them are enough.
      weight += requests[count...].reduce(requests.count - count) { $0 + ($1.pieces?.hashes.count ?? 0) >> 14 }
    }
    let isComplete = interruption.isRaised || isAtEnd
    feed.listed(made.count, complete: isComplete && !interruption.isRaised)
    feed.expect(made.expected)
    if made.isBrokenOff || interruption.isRaised { made.spool?.discard() } else if isComplete { made.spool?.close() }
    if isComplete, let remedy = made.end() { onFormat(remedy) }
    let outlook = SourceOutlook(
      goesOn: isComplete || isReadableAtOnce, hasFirst: made.hasFirst, left: isComplete ? requests.count : nil)
    requests.reverse()
    put(Buffer(requests: requests, isComplete: requests.isEmpty && isComplete, outlook: outlook))
    requests = []  // one owner, so that taking one copies nothing
    onRead(
      Reading(
        count: made.count, listDigest: isWhole && !interruption.isRaised ? listDigest : nil,
        isKept: made.spool?.isKept ?? false, spooledLogins: made.spool?.hadLogins ?? false))
  }

  /// Waits for the first request. More are added while that needs no wait, up to a memory limit, so that the length of
  /// a list is known early.
  private func mayRead(beyond count: Int) -> Bool {
    !interruption.isRaised && (count == 0 || count < 512 && isReadableAtOnce)
  }

  private var isReadableAtOnce: Bool {
    guard expansion == nil, let open, !open.decoder.isPending, open.rest.isEmpty else { return true }
    switch open.bytes {
    case .file(let file): return interruption.waitUntilReadable(file.rawValue, within: .zero)
    case .arriving(let list): return list.bytes.isReadable(at: open.offset)
    }
  }

  /// In bytes; small, because the lines of a block are in memory in several forms at once.
  private static let blockSize = 4 * 1024

  // MARK: A source

  /// - Returns: false at the end of the last source.
  private func readBlock() -> Bool {
    if let expansion {
      expand(expansion)
      return true
    }
    guard let source = open?.source ?? sources.popFirst() else { return false }
    do { if open == nil { open = try opened(source) } } catch { breakOff(source, error) }
    guard var list = open else { return true }
    open = nil
    do {
      try readPage(&list)
      if !list.isAtEnd || expansion != nil {
        open = list
        return true
      }
      tell(list.doubt.release())
      // Its next page or folder, if it has one.
      open = try nextPage(of: list) ?? nextFolder(of: list)
      if open == nil { tellChanges(in: source) }
    } catch {
      if !(error is Rejection.NoList) { tell(list.doubt.release()) }
      breakOff(source, after: list.reader?.line, error)
    }
    if source != .standardInput, case .file(let file) = list.bytes {
      try? file.close()  // it was only read, so a failing close loses nothing
    }
    return true
  }

  private func take(_ text: String, _ source: Source) {
    let place = Place(source: source)
    do {
      if made.form.expandsRanges, let ranges = try URLRanges(in: Array(text.utf8)) {
        expansion = Expansion(ranges: ranges, place: place)
        return
      }
    } catch { return tell(error, ListLine.shown(text), place) }
    _ = take(ListLine(text.utf8), place)
    tellChanges(in: source)
  }

  /// - Returns: whether it is a URL.
  private func take(_ line: ListLine, _ place: Place) -> Bool {
    switch line {
    case .blank: break
    case .bad(let reason, let text): tell(reason, text, place)
    case .address(let address, let options): take(address, options, place)
    }
    return line.address != nil
  }

  /// Takes some URLs of a range, so that a long one is not held in memory; an invalid URL ends it.
  private func expand(_ expansion: Expansion) {
    var rest = expansion
    self.expansion = nil
    for _ in 0..<64 {
      guard let text = rest.ranges.next(), take(ListLine(text, base: rest.base), rest.place) else { return }
    }
    self.expansion = rest
  }

  /// - Returns: `nil` for a URL, which it takes, and for a list that cannot be requested.
  private func opened(_ source: Source) throws -> OpenList? {
    switch source {
    case .address(let text): take(text, source)
    case .standardInput: return OpenList(source: source, bytes: .file(.standardInput), form: made.form)
    case .list(let path):
      // A pipe without a writer is waited for where that can be interrupted, and then read like any other.
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
      if followsFiles, !file.isRegularFile { throw Errno.illegalSeek }
      _ = fcntl(file.rawValue, F_SETFL, 0)
      return OpenList(source: source, bytes: .file(file), form: made.form)
    case .listAt(let text):
      let named = Preset.named(by: text)
      switch ListLine((named?.address ?? text).utf8) {
      case .bad(let reason, let shown):
        made.isBrokenOff = true
        tell(reason, shown, Place(source: .address(text)))
      case .address(let address, _):
        guard let fetching else { return nil }
        let name = Preset.fullName(of: text)
        if named != nil, name != text { onFormat("\(text) is read as \(name)") }
        var form = named.map { $0.preset.form(made.form, id: $0.id) } ?? made.form
        if address.isServerFolder, form.format == nil {
          form.format = .html
          onFormat("\(source.name): a folder, whose files are downloaded")
        }
        let bytes = OpenList.Bytes.arriving(try ListAtAddress(address, fetching))
        return OpenList(source: source, bytes: bytes, address: address, form: form)
      case .blank: break
      }
    }
    return nil
  }

  private static let mostPages = 10_000

  /// - Returns: `nil` if no further page of JSON is named.
  private func nextPage(of list: OpenList) throws(DownloadError) -> OpenList? {
    guard case .arriving(let arriving) = list.bytes, let home = list.address, let fetching,
      var reader = list.reader as? JSONItems, let text = reader.next ?? arriving.bytes.next, !text.isEmpty
    else { return nil }
    fetching.version?.forget()
    let base = arriving.bytes.base
    var pages = list.pages.union([home, base])
    guard let page = arriving.bytes.page(at: text), page.scheme.isHTTP,
      !base.scheme.isEncrypted || page.scheme.isEncrypted,
      pages.count < Self.mostPages
    else {
      let why = "its next page is not downloaded, after \(pages.count): \(ListLine.shown(text))"
      throw DownloadError(.badResponse, cause: .detail(why), activity: "following its pages")
    }
    guard pages.insert(page).inserted else {
      onFormat("\(list.source.name): ends here, as its next page is an earlier one, \(page.redacted)")
      return nil
    }
    reader.turnPage()
    return OpenList(
      source: list.source, bytes: .arriving(try ListAtAddress(page, of: home, fetching)), address: home,
      form: list.form,
      reader: reader, isSaid: true, pages: pages)
  }

  /// - Returns: the page of the next folder within `--depth`; `nil` if none is left.
  private func nextFolder(of list: OpenList) throws -> OpenList? {
    guard let home = list.address, let fetching, var page = list.reader as? MarkupList, var folders = page.folders
    else { return nil }
    if folders.hasMore, folders.robots == nil, home.scheme.isHTTP {
      folders.robots = RobotsRules(try text(of: "/robots.txt", beside: list) ?? [])
    }
    if let address = folders.next() {
      fetching.version?.forget()
      page.folders = folders
      try page.turnPage()
      var form = list.form
      form.base = nil
      let bytes = OpenList.Bytes.arriving(try ListAtAddress(address, of: home, fetching))
      return OpenList(source: list.source, bytes: bytes, address: home, form: form, reader: page, isSaid: true)
    }
    if !folders.forbidden.isEmpty {
      onFormat(ListMessages.forbidden(folders.forbidden, by: home, in: list.source))
    }
    if folders.isCut {
      made.isBrokenOff = true
      let why =
        "\(list.source.name) has more than \(PageFolders.most) folders: the rest is not read; give a smaller --depth"
      tell(.row(why), "", Place(source: list.source))
    }
    try page.checkLinks()
    return nil
  }

  // MARK: A list

  /// Reports a folder that cannot be read; the reader continues with the others.
  private func readPage(_ list: inout OpenList) throws {
    do { try read(&list) } catch let error as DownloadError {
      guard (list.reader as? MarkupList)?.folders?.isBelow == true else { throw error }
      breakOff(list.source, error)
      list.hasEnded = true
      list.decoder = ListDecoder()
    }
  }

  private func read(_ list: inout OpenList) throws {
    var rest = try list.isAtEnd || !list.rest.isEmpty ? list.rest : nextEntries(of: &list)[...]
    list.rest = []
    // dlm's users write plain lists by hand, so they choose the names in them (HTTP rule 50).
    var place = Place(source: list.source, list: list.address, naming: list.reader is PlainLines ? .user : .thirdParty)
    while let entry = rest.popFirst() {
      place.line = entry.line
      if let ranges = entry.ranges {
        list.rest = rest
        expansion = Expansion(ranges: ranges, place: place, base: list.base)
        return tell(list.doubt.address())
      }
      switch entry.content {
      case .blank: break
      case .address(let address, let options):
        tell(list.doubt.address())
        take(address, options, place)
      case .bad(.damaged(let why), _):
        throw DownloadError(.badResponse, cause: .detail(why), activity: "decoding")
      case .bad(let reason, let text):
        _ = made.takes(text)
        tell(try list.doubt.take(place.rejection(reason, text)))
      }
    }
  }

  /// - Returns: empty if the wait was interrupted, or the block ends within an entry.
  private func nextEntries(of list: inout OpenList) throws -> [ListEntry] {
    if !list.decoder.isPending {
      guard let block = try nextBlock(of: list.bytes, of: list.source, at: list.offset) else { return [] }
      list.offset += Int64(block.count)
      list.hasEnded = block.isEmpty
      try list.decoder.take(block)
    }
    var text = try list.decoder.next()
    list.length += Int64(text.count)
    if case .arriving = list.bytes { try fetching?.check(list.length) }
    let isWhole = list.hasEnded && !list.decoder.isPending
    let base = list.base
    if list.reader == nil {
      list.start += text
      guard isWhole || ListForm.tells(list.start) else { return [] }
      text = list.start
    }
    var reader =
      try list.reader
      ?? list.form.reader(of: text, named: list.source.name) { try self.text(of: $0, beside: list) }
    // Otherwise its buffered part of the list would be copied.
    list.reader = nil
    defer { list.reader = reader }
    var entries = text.isEmpty ? [] : try reader.take(text, base: base)
    list.start = []
    if !list.isSaid {
      let words = [list.form.format == nil ? reader.said : nil, reader.used].compactMap(\.self)
      list.isSaid = !words.isEmpty
      if list.isSaid { onFormat("\(list.source.name): \(words.joined(separator: ", "))") }
    }
    guard isWhole, !wantsWholeLines else { return entries }
    entries += try reader.take([], base: base)
    if let note = reader.note { onFormat("\(list.source.name): \(note)") }
    return entries
  }

  /// - Returns: empty at the end; `nil` if the wait was interrupted.
  private func nextBlock(of bytes: OpenList.Bytes, of source: Source, at offset: Int64) throws -> [UInt8]? {
    switch bytes {
    case .file(let file):
      if !interruption.waitUntilReadable(file.rawValue, within: .zero) {
        feed.awaits(ListMessages.waiting(for: source))
        guard interruption.waitUntilReadable(file.rawValue) else { return nil }
        feed.awaits(nil)
      }
      return try file.block(Self.blockSize)
    case .arriving(let list):
      defer { feed.awaits(nil) }
      while true {
        if let block = try list.bytes.read(at: offset, Self.blockSize) { return block }
        guard interruption.waitUntilReadable(list.bytes.pipe.descriptor) else { return nil }
      }
    }
  }

  /// - Returns: `nil` if a list has no such file beside it.
  private func text(of name: String, beside list: OpenList) throws -> [UInt8]? {
    guard case .arriving(let arriving) = list.bytes else {
      return FileDescriptor.bytes(of: FilePath(list.source.name).folder.appending(name), upTo: WholeText.limit)
    }
    guard let fetching, let home = list.address, let address = arriving.bytes.page(at: name) else { return nil }
    let bytes = OpenList.Bytes.arriving(try ListAtAddress(address, of: home, fetching))
    var text: [UInt8] = []
    do {
      while let block = try nextBlock(of: bytes, of: list.source, at: Int64(text.count)), !block.isEmpty {
        text += block
      }
    } catch let error as DownloadError where error.code == .status && !error.isTransient { return nil }
    return text
  }

  private func take(_ address: Address, _ options: LineOptions?, _ place: Place) {
    guard made.takes(address.resource, of: address) else { return }
    if countsOnly { return made.add(size: made.size(of: address, options)) }
    do {
      requests.append(try made.request(address, options, place))
    } catch {
      tell(error, address.redacted, place)
    }
  }

  /// Reports once what is downloaded otherwise than its URLs and mirrors say.
  private func tellChanges(in source: Source) {
    if let (count, hosts, last) = made.unwrapped {
      made.unwrapped = nil
      let what = source.isAddress ? last.redacted : "\(source.name): \(count == 1 ? "1 URL" : "\(count) URLs")"
      onFormat("\(what) unwrapped from \(hosts.sorted().joined(separator: ", ")); --no-unwrap downloads those pages")
    }
    if !made.newlySecured.isEmpty {
      let hosts = made.newlySecured.joined(separator: ", ")
      made.newlySecured = []
      onFormat("\(source.name): ftp:// of \(hosts) is asked over https first; --no-prefer-https leaves it as it is")
    }
    if made.unusedMirrors > 0, !source.isAddress {
      let count = made.unusedMirrors
      made.unusedMirrors = 0
      onFormat(
        "\(source.name): \(count == 1 ? "1 http mirror" : "\(count) http mirrors") of https URLs not used: no checksum "
          + "of SHA-256 or better proves what they send")
    }
  }

  // MARK: Errors

  /// - Parameter line: the last one that was read.
  private func breakOff(_ source: Source, after line: Int? = nil, _ error: any Error) {
    made.isBrokenOff = true
    var place = Place(source: source)
    var reason = Rejection.Reason.unreadable(errno: Errno(error).rawValue)
    switch error {
    case let what as Rejection.NoList: reason = .noList(what)
    case let error as DownloadError where error.activity == "decoding" && error.code == .resources:
      reason = .noList(.heavy)
    case let error as DownloadError where error.activity == "decoding":
      place.line = (line ?? 0) + 1
      reason = .damaged(error.reason)
    case let error as DownloadError: reason = .unfetched(error)
    default: break
    }
    tell(reason, "", place)
  }

  private func tell(_ reason: Rejection.Reason, _ text: String, _ place: Place) {
    tell([place.rejection(reason, text)])
  }

  private func tell(_ rejections: [Rejection]) {
    for rejection in rejections where rejection.line == nil || made.form.shard?.takes(rejection.text) != false {
      feed.reject(rejection)
      onReject(rejection)
    }
  }
}

/// Thrown for a URL, or for a file of a list, that cannot be requested.
extension Rejection.Reason: Error {}

private struct ListedRequests: ~Copyable {
  let marks: RequestMarks
  var form: ListForm { marks.form }
  let names: NameNumbers
  let spool: ListSpool?
  lazy var sizes = marks.indexFolder.flatMap { IndexedSizes(in: $0) }
  var count: Int
  /// Whether a source could not be read to its end.
  var isBrokenOff = false
  private(set) var hasFirst = false
  private(set) var expected = ExpectedSizes()
  private(set) var downgrading: Set<String> = []
  /// Mirrors that `LineOptions.usableMirrors` has skipped since the last report.
  var unusedMirrors = 0
  /// URLs that were unwrapped since the last report.
  var unwrapped: (count: Int, hosts: Set<String>, last: Address)?
  /// Hosts of `ftp://` URLs that are asked over https; and those of them that were not reported yet.
  private(set) var secured: Set<String> = []
  var newlySecured: [String] = []
  /// The URLs of its requests.
  var listed = LinesDigest()
  /// All lines of a sharded list, and the number of this process's lines.
  var whole = LinesDigest()
  var taken = 0

  /// Counts a line for the whole list.
  /// - Parameter address: `nil` if the text is not a URL.
  /// - Returns: whether it belongs to this process's share.
  mutating func takes(_ text: String, of address: Address? = nil) -> Bool {
    guard let shard = form.shard else { return true }
    if form.onLine?(address) != nil { return false }
    let isTaken = address.map { shard.takes($0) } ?? shard.takes(text)
    if isTaken { taken += 1 }
    whole.add(text)
    return isTaken
  }

  /// - Throws: if the same file was requested with other header lines, or a list may not send its own, or the user's
  ///   login, there.
  mutating func request(
    _ address: Address, _ options: LineOptions?, _ place: ListReader.Place
  ) throws(Rejection.Reason) -> DownloadRequest {
    if address.isServerFolder { throw .row("a folder is no file: name it as a SOURCE of its own") }
    var address = address
    var provenance = options?.provenance ?? .user
    var options = options
    if marks.form.unwraps, options?.headerLines.isEmpty != false, let inner = address.unwrapped {
      unwrapped = ((unwrapped?.count ?? 0) + 1, (unwrapped?.hosts ?? []).union([address.host]), inner)
      // As after a redirect, the user's header lines and logins do not go there.
      address = inner
      provenance = .thirdParty
    }
    let original = address
    if marks.form.prefersHTTPS, let secure = address.overHTTPS {
      address = secure
      if secured.insert(address.host).inserted { newlySecured.append(address.host) }
    }
    provenance = max(Provenance(of: address, listedAt: place.list), provenance)
    if let header = options?.forbiddenHeader(from: provenance) { throw .thirdPartyHeader(header) }
    if provenance == .thirdParty, address.scheme.isPrivate { throw .thirdPartyScheme(address.scheme.rawValue) }
    keepMirrors(of: address, in: &options, place)
    if original.scheme != address.scheme {
      options = options ?? LineOptions()
      options?.mirrors.append(original)
    }
    let isFirst = options?.isFirst ?? marks.first.contains { $0.matches(address) }
    let size = size(of: address, options)
    var request = DownloadRequest(
      id: count, address: address,
      wishes: marks.wishes(of: address, options, from: provenance, naming: max(place.naming, provenance)),
      isFirst: isFirst, expectedSize: size, pieces: options?.pieces)
    guard request.number(by: names) else { throw .otherHeaders }
    if place.list?.scheme.isEncrypted == true, [.http, .ftp].contains(address.scheme) {
      downgrading.insert(place.source.name)
    }
    listed.add(address.key)
    if place.source == .standardInput { spool?.add(request, options ?? LineOptions()) }
    if isFirst { hasFirst = true }
    add(size: size)
    return request
  }

  /// Leaves out the mirrors that may not be used.
  private mutating func keepMirrors(of address: Address, in options: inout LineOptions?, _ place: ListReader.Place) {
    guard let given = options, !given.mirrors.isEmpty else { return }
    let usable = given.usableMirrors(of: address, isProvable: marks.isProvable(address, given))
    unusedMirrors += given.mirrors.count - usable.count
    options?.mirrors = place.list == nil ? usable : usable.filter { !$0.scheme.isPrivate }
  }

  mutating func size(of address: Address, _ options: LineOptions?) -> Int64? {
    options?.size ?? options?.estimate ?? address.data.map { Int64($0.bytes.count) } ?? sizes?.size(of: address)
  }

  mutating func add(size: Int64?) {
    count += 1
    if let size { expected.add(size) }
  }

  /// - Returns: a message about this share; once.
  mutating func end() -> String? {
    sizes = nil
    defer { taken = 0 }
    return form.shard?.remedy(taken: taken, of: whole.count)
  }
}
