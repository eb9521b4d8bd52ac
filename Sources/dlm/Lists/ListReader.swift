import DownloadCaching
import DownloadModel
import Glibc
import SystemPackage

/// Reads sources a block at a time, on a thread that may wait for a pipe.
actor ListReader {
  private nonisolated let executor = BlockingExecutor(label: "list-reader")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var sources: ArraySlice<Source>
  private let outputName: String?
  private let checksum: ContentDigest?
  private let ordering: ListOrdering
  /// Opened with the first block; nil too where the sizes are not wanted, or not known.
  private var sizes: IndexedSizes?
  private var hasFirst = false
  /// Lists that came over https and name files that others can read and change on their way.
  private(set) var downgrading: Set<String> = []
  private let feed: ProgressFeed
  private let onReject: @Sendable (Rejection) -> Void
  private var open: OpenList?
  private var count = 0
  private var digest = ContentHasher(.sha256)
  /// Bytes for the digest: a block's addresses at once, because a call of the digest costs more than the bytes.
  private var keys: [UInt8] = []
  private let spool: ListSpool?
  /// Numbers repeated names, in the order in which they are read.
  nonisolated let names = NameNumbers()
  private let onRead: (@Sendable (Reading) -> Void)?
  private var spooledLogins = false
  private let interruption: Interruption
  private let fetching: ListAtAddress.Fetching?
  /// Whether a last line without its end is left out, since more of it may come.
  private let wantsWholeLines: Bool
  /// Whether a source could not be read to its end.
  private var isBrokenOff = false

  /// How far the sources are read.
  struct Reading: Sendable {
    /// Addresses so far.
    var count: Int
    /// Whether the last source was read to its end and none broke off.
    var isWhole: Bool
    /// Whether the list that came through standard input is kept.
    var isKept: Bool
    /// Whether some of its addresses had logins, which are not kept.
    var spooledLogins: Bool
  }

  private struct OpenList {
    let source: Source
    let bytes: Bytes
    /// Its address, as the user wrote it.
    var address: Address?
    /// Bytes read so far.
    var offset: Int64 = 0
    /// Bytes of its text so far.
    var length: Int64 = 0
    var decoder = ListDecoder()
    var splitter = LineSplitter()
    var line = 0
    var doubt = ListDoubt()
    /// Whether the last byte was read.
    var hasEnded = false

    enum Bytes {
      case file(FileDescriptor)
      case arriving(ListAtAddress)
    }
  }

  /// - Parameters:
  ///   - outputName: the name of the one address's file.
  ///   - checksum: its checksum.
  ///   - ordering: what decides which requests go before others.
  ///   - fetching: how lists at addresses are fetched.
  ///   - spool: keeps what comes from standard input, so that the run can be repeated.
  ///   - onRead: told after each block, on the reader's own thread.
  init(
    _ sources: [Source], outputName: String?, checksum: ContentDigest? = nil,
    ordering: ListOrdering = ListOrdering(), feed: ProgressFeed, fetching: ListAtAddress.Fetching? = nil,
    wantsWholeLines: Bool = false, spool: ListSpool?, onRead: (@Sendable (Reading) -> Void)? = nil,
    onReject: @escaping @Sendable (Rejection) -> Void
  ) {
    self.wantsWholeLines = wantsWholeLines
    self.onRead = onRead
    self.sources = sources[...]
    self.outputName = outputName
    self.checksum = checksum
    self.ordering = ordering
    self.feed = feed
    self.spool = spool
    self.fetching = fetching
    self.onReject = onReject
    interruption = Interruption()
  }

  /// All requests at once, for a list that is run more than once.
  static func all(
    _ sources: [Source], fetching: ListAtAddress.Fetching? = nil, onReject: @escaping @Sendable (Rejection) -> Void
  ) async -> (requests: [DownloadRequest], listDigest: String, downgrading: Set<String>) {
    let reader = ListReader(
      sources, outputName: nil, feed: ProgressFeed(), fetching: fetching, spool: nil, onReject: onReject)
    return (await reader.all(), await reader.listDigest, await reader.downgrading)
  }

  /// Reads all there is to read.
  nonisolated func all() async -> [DownloadRequest] {
    let source = ListSource(self)
    var requests: [DownloadRequest] = []
    while let request = await source.next() { requests.append(request) }
    return requests
  }

  /// Ends a wait for a slow pipe; the rest of the pipe is not read. From any thread.
  nonisolated func interrupt() { interruption.raise() }

  /// Gives the source its next requests, or the end.
  func refill(_ source: ListSource) {
    guard source.isEmpty else { return }
    if count == 0, sizes == nil { sizes = ordering.indexFolder.flatMap { IndexedSizes(in: $0) } }
    var requests: [DownloadRequest] = []
    while mayRead(beyond: requests.count), let more = readBlock() { requests += more }
    let isComplete = interruption.isRaised || (open == nil && sources.isEmpty)
    feed.listed(count, complete: isComplete)
    if interruption.isRaised || isBrokenOff { spool?.discard() } else if isComplete { spool?.close() }
    if isComplete { sizes = nil }
    let outlook = SourceOutlook(
      goesOn: isComplete || isReadableAtOnce, hasFirst: hasFirst, left: isComplete ? requests.count : nil)
    source.put(requests, isComplete: requests.isEmpty && isComplete, outlook)
    onRead?(
      Reading(
        count: count, isWhole: isComplete && !interruption.isRaised && !isBrokenOff,
        isKept: spool?.isKept ?? false, spooledLogins: spooledLogins))
  }

  /// Whether every source was read to its end.
  var isWhole: Bool { open == nil && sources.isEmpty && !isBrokenOff }

  /// Identifies the list that the sources make: reads all of it, and keeps nothing.
  static func digest(of sources: [Source], fetching: ListAtAddress.Fetching? = nil) async -> String {
    let reader = ListReader(
      sources, outputName: nil, feed: ProgressFeed(), fetching: fetching, spool: nil, onReject: { _ in })
    let source = ListSource(reader)
    while await source.next() != nil {}
    return await reader.listDigest
  }

  /// The first request is worth waiting for. Requests that can be read without waiting are added, up to a number that
  /// bounds memory, so that the length of a list is known early.
  private func mayRead(beyond count: Int) -> Bool {
    if interruption.isRaised { return false }
    if count == 0 { return true }
    return count < 4096 && isReadableAtOnce
  }

  /// Whether more, or the end, can be read without waiting.
  private var isReadableAtOnce: Bool {
    guard let open, !open.decoder.isPending else { return true }
    switch open.bytes {
    case .file(let file): return interruption.isReadableNow(file.rawValue)
    case .arriving(let list): return list.isReadable(at: open.offset)
    }
  }

  /// Identifies the list: equal for equal addresses in equal order. Meaningful once the list was read to its end.
  var listDigest: String { String(digest.finish().hex.prefix(32)) }

  /// The requests of the next block; nil at the end of the last source.
  private func readBlock() -> [DownloadRequest]? {
    if open == nil {
      guard let source = sources.popFirst() else { return nil }
      switch source {
      case .address(let text): return requests(at: text, source)
      case .standardInput: open = OpenList(source: source, bytes: .file(.standardInput))
      case .list(let path): open = openList(path, source)
      case .listAt(let text): open = openList(at: text, source)
      }
      if open == nil { return [] }
    }
    return readOpenList()
  }

  private func openList(_ path: String, _ source: Source) -> OpenList? {
    do {
      // A pipe without a writer is waited for where that can be interrupted, and then read as any other.
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
      _ = fcntl(file.rawValue, F_SETFL, 0)
      return OpenList(source: source, bytes: .file(file))
    } catch {
      breakOff(source, line: nil, .unreadable(errno: Self.code(error)))
      return nil
    }
  }

  private func openList(at text: String, _ source: Source) -> OpenList? {
    let line = ListLine(Array(text.utf8))
    guard case .address(let address) = line, let fetching else {
      if case .bad(let reason, let text) = line {
        isBrokenOff = true
        reject(.address(text), line: nil, text, reason)
      }
      return nil
    }
    do throws(DownloadError) {
      return OpenList(source: source, bytes: .arriving(try ListAtAddress(address, fetching)), address: address)
    } catch {
      breakOff(source, line: nil, .unfetched(error))
      return nil
    }
  }

  private func breakOff(_ source: Source, line: Int?, _ reason: Rejection.Reason) {
    isBrokenOff = true
    reject(source, line: line, "", reason)
  }

  private func readOpenList() -> [DownloadRequest] {
    guard var list = open else { return [] }
    open = nil
    let lines: [[UInt8]]
    do {
      lines = try nextLines(of: &list)
    } catch {
      close(list)
      tell(list.doubt.release(), of: list.source)
      if let what = error as? Rejection.NoList {
        breakOff(list.source, line: nil, .noList(what))
      } else {
        breakOff(list, error)
      }
      return []
    }
    let first = list.line + 1
    list.line += lines.count
    var requests: [DownloadRequest] = []
    if let what = read(lines, of: &list, from: first, into: &requests) {
      close(list)
      breakOff(list.source, line: nil, .noList(what))
    } else if list.hasEnded, !list.decoder.isPending {
      close(list)
      tell(list.doubt.release(), of: list.source)
    } else {
      open = list
    }
    return requests
  }

  /// - Returns: none when the wait for the next block was interrupted, or it ends within a line.
  private func nextLines(of list: inout OpenList) throws -> [[UInt8]] {
    if !list.decoder.isPending {
      guard let block = try nextBlock(of: list) else { return [] }
      list.offset += Int64(block.count)
      list.hasEnded = block.isEmpty
      try list.decoder.take(block)
    }
    var lines: [[UInt8]] = []
    let text = try list.decoder.next()
    list.length += Int64(text.count)
    if case .arriving = list.bytes { try fetching?.check(list.length) }
    if list.line == 0, let what = ListDoubt.look(at: text) { throw what }
    if !text.isEmpty { lines = list.splitter.take(text) }
    if list.hasEnded, !list.decoder.isPending, !wantsWholeLines { lines += list.splitter.take([]) }
    return lines
  }

  /// Reports what is wrong with a list after the lines that were read of it.
  private func breakOff(_ list: OpenList, _ error: any Error) {
    switch error {
    case let error as DownloadError where error.activity == "decoding":
      breakOff(list.source, line: list.line + 1, .damaged(error.reason))
    case let error as DownloadError: breakOff(list.source, line: nil, .unfetched(error))
    default: breakOff(list.source, line: nil, .unreadable(errno: Self.code(error)))
    }
  }

  /// Waits for the next bytes.
  /// - Returns: empty at the end; nil when the wait was interrupted.
  private func nextBlock(of list: OpenList) throws -> [UInt8]? {
    switch list.bytes {
    case .file(let file):
      guard interruption.waitUntilReadable(file.rawValue) else { return nil }
      return try file.block()
    case .arriving(let arriving):
      while true {
        switch try arriving.read(at: list.offset, FileDescriptor.blockSize) {
        case .bytes(let block): return block
        case .end: return []
        case .wait: guard interruption.waitUntilReadable(arriving.descriptor) else { return nil }
        }
      }
    }
  }

  /// - Returns: what it is, if it is found to be no list.
  private func read(
    _ lines: [[UInt8]], of list: inout OpenList, from first: Int, into requests: inout [DownloadRequest]
  ) -> Rejection.NoList? {
    var base: Address?
    if case .arriving(let arriving) = list.bytes { base = arriving.base }
    requests.reserveCapacity(lines.count)
    defer { digestKeys() }
    for (offset, bytes) in lines.enumerated() {
      switch ListLine(bytes, base: base) {
      case .blank: break
      case .address(let address):
        let held = list.doubt.address()
        if !held.isEmpty { tell(held, of: list.source) }
        requests.append(request(address, from: list.source, at: list.address))
      case .addressWith(let address, let options):
        tell(list.doubt.address(), of: list.source)
        requests.append(request(address, options, from: list.source, at: list.address))
      case .bad(let reason, let text):
        let line = ListDoubt.BadLine(line: first + offset, text: text, reason: reason)
        switch list.doubt.take(line) {
        case .held: break
        case .told: tell([line], of: list.source)
        case .refused(let what): return what
        }
      }
    }
    return nil
  }

  /// The one request of an address on the command line.
  private func requests(at text: String, _ source: Source) -> [DownloadRequest] {
    defer { digestKeys() }
    switch ListLine(Array(text.utf8)) {
    case .blank: return []
    case .address(let address): return [request(address, from: source)]
    case .addressWith(let address, let options): return [request(address, options, from: source)]
    case .bad(let reason, let text):
      reject(source, line: nil, text, reason)
      return []
    }
  }

  /// - Parameter list: the address of its list; nil where the user wrote the list.
  private func request(
    _ address: Address, _ options: LineOptions? = nil, from source: Source, at list: Address? = nil
  ) -> DownloadRequest {
    let provenance = max(Provenance(of: address, listedAt: list), options?.provenance ?? .user)
    if let list, list.scheme == .https, address.scheme == .http { downgrading.insert(source.name) }
    let place = names.next(address, from: provenance)
    defer { count += 1 }
    note(address, options, from: source)
    let isFirst = options?.isFirst ?? ordering.isFirst(address)
    if isFirst { hasFirst = true }
    return DownloadRequest(
      id: count, address: address, outputName: outputName, checksum: checksum, nameNumber: place.number,
      isRepeat: place.isRepeat, isFirst: isFirst, expectedSize: options?.size ?? sizes?.size(of: address),
      provenance: provenance)
  }

  private func digestKeys() {
    digest.update(keys)
    keys.removeAll(keepingCapacity: true)
  }

  private func tell(_ lines: [ListDoubt.BadLine], of source: Source) {
    for line in lines { reject(source, line: line.line, line.text, line.reason) }
  }

  private func note(_ address: Address, _ options: LineOptions?, from source: Source) {
    keys += address.key.utf8
    keys.append(0x0A)
    guard source == .standardInput, let spool else { return }
    spool.add(address, options)
    if address.hasCredentials { spooledLogins = true }
  }

  private func reject(_ source: Source, line: Int?, _ text: String, _ reason: Rejection.Reason) {
    let rejection = Rejection(list: source.name, line: line, text: text, reason: reason)
    feed.reject(rejection)
    onReject(rejection)
  }

  private func close(_ list: OpenList) {
    guard list.source != .standardInput, case .file(let file) = list.bytes else { return }
    // The file was only read, so a failing close loses nothing.
    try? file.close()
  }

  private static func code(_ error: any Error) -> Int32 { Errno(error).rawValue }
}
