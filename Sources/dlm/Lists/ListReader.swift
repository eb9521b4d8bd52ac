import Crypto
import DownloadCaching
import DownloadModel
import SystemPackage

/// Reads sources a block at a time, on a thread that may wait for a pipe.
actor ListReader {
  private nonisolated let executor = BlockingExecutor(label: "list-reader")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var sources: ArraySlice<Source>
  private let outputName: String?
  private let checksum: ContentDigest?
  private let feed: ProgressFeed
  private let onReject: @Sendable (Rejection) -> Void
  private var open: OpenList?
  private var count = 0
  private var digest = SHA256()
  /// Bytes for the digest: a block's addresses at once, because a call of the digest costs more than the
  /// bytes.
  private var keys: [UInt8] = []
  private let spool: ListSpool?
  /// Numbers repeated names, in the order in which they are read.
  nonisolated let names = NameNumbers()
  private let onRead: (@Sendable (Reading) -> Void)?
  private var spooledLogins = false
  private let interruption: Interruption
  private let fetching: ListAtAddress.Fetching?
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
    /// Bytes read so far.
    var offset: Int64 = 0
    var decoder = ListDecoder()
    var splitter = LineSplitter()
    var line = 0
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
  ///   - fetching: how lists at addresses are fetched.
  ///   - spool: keeps what comes from standard input, so that the run can be repeated.
  ///   - onRead: told after each block, on the reader's own thread.
  init(
    _ sources: [Source], outputName: String?, checksum: ContentDigest? = nil,
    feed: ProgressFeed, fetching: ListAtAddress.Fetching? = nil,
    spool: ListSpool?, onRead: (@Sendable (Reading) -> Void)? = nil,
    onReject: @escaping @Sendable (Rejection) -> Void
  ) {
    self.onRead = onRead
    self.sources = sources[...]
    self.outputName = outputName
    self.checksum = checksum
    self.feed = feed
    self.spool = spool
    self.fetching = fetching
    self.onReject = onReject
    interruption = Interruption()
  }

  /// All requests at once, for a list that is run more than once.
  static func all(
    _ sources: [Source], fetching: ListAtAddress.Fetching? = nil,
    onReject: @escaping @Sendable (Rejection) -> Void
  ) async -> [DownloadRequest] {
    let source = ListSource(
      ListReader(
        sources, outputName: nil, feed: ProgressFeed(), fetching: fetching, spool: nil,
        onReject: onReject))
    var requests: [DownloadRequest] = []
    while let request = await source.next() { requests.append(request) }
    return requests
  }

  /// Ends a wait for a slow pipe; the rest of the pipe is not read. From any thread.
  nonisolated func interrupt() { interruption.raise() }

  /// Gives the source its next requests, or the end.
  func refill(_ source: ListSource) {
    guard source.isEmpty else { return }
    var requests: [DownloadRequest] = []
    while mayRead(beyond: requests.count), let more = readBlock() { requests += more }
    let isComplete = interruption.isRaised || (open == nil && sources.isEmpty)
    feed.listed(count, complete: isComplete)
    if interruption.isRaised || isBrokenOff { spool?.discard() } else if isComplete { spool?.close() }
    source.put(requests, isComplete: requests.isEmpty && isComplete)
    onRead?(
      Reading(
        count: count, isWhole: isComplete && !interruption.isRaised && !isBrokenOff,
        isKept: spool?.isKept ?? false, spooledLogins: spooledLogins))
  }

  /// Identifies the list that the sources make: reads all of it, and keeps nothing.
  static func digest(of sources: [Source], fetching: ListAtAddress.Fetching? = nil) async -> String {
    let reader = ListReader(
      sources, outputName: nil, feed: ProgressFeed(), fetching: fetching, spool: nil,
      onReject: { _ in })
    let source = ListSource(reader)
    while await source.next() != nil {}
    return await reader.listDigest
  }

  /// The first request is worth waiting for. Requests that can be read without waiting are added, up to a
  /// number that bounds memory, so that the length of a list is known early.
  private func mayRead(beyond count: Int) -> Bool {
    if interruption.isRaised { return false }
    if count == 0 { return true }
    guard count < 4096 else { return false }
    guard let open, !open.decoder.isPending else { return true }
    switch open.bytes {
    case .file(let file): return interruption.isReadableNow(file.rawValue)
    case .arriving(let list): return list.isReadable(at: open.offset)
    }
  }

  /// Identifies the list: equal for equal addresses in equal order. Meaningful once the list was read to its
  /// end.
  var listDigest: String { String(digest.finalize().hex.prefix(32)) }

  /// The requests of the next block; nil at the end of the last source.
  private func readBlock() -> [DownloadRequest]? {
    if open == nil {
      guard let source = sources.popFirst() else { return nil }
      switch source {
      case .address(let text): return requests(in: [Array(text.utf8)], of: source, from: nil)
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
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
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
      return OpenList(source: source, bytes: .arriving(try ListAtAddress(address, fetching)))
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
      breakOff(list, error)
      return []
    }
    let first = list.line + 1
    list.line += lines.count
    if list.hasEnded, !list.decoder.isPending { close(list) } else { open = list }
    return requests(in: lines, of: list, from: first)
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
    if !text.isEmpty { lines = list.splitter.take(text) }
    if list.hasEnded, !list.decoder.isPending { lines += list.splitter.take([]) }
    return lines
  }

  /// Reports what is wrong with a list after the lines that were read of it.
  private func breakOff(_ list: OpenList, _ error: any Error) {
    switch error {
    case let damage as Inflater.Damage:
      breakOff(list.source, line: list.line + 1, .damaged(RejectionMessages.text(damage)))
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

  private func requests(in lines: [[UInt8]], of list: OpenList, from first: Int) -> [DownloadRequest] {
    var base: Address?
    if case .arriving(let arriving) = list.bytes { base = arriving.base }
    return requests(in: lines, of: list.source, from: first, base: base)
  }

  private func requests(
    in lines: [[UInt8]], of source: Source, from first: Int?, base: Address? = nil
  ) -> [DownloadRequest] {
    var requests: [DownloadRequest] = []
    requests.reserveCapacity(lines.count)
    for (offset, bytes) in lines.enumerated() {
      switch ListLine(bytes, base: base) {
      case .blank: break
      case .address(let address):
        let place = names.next(address)
        requests.append(
          DownloadRequest(
            id: count, address: address, outputName: outputName, checksum: checksum, nameNumber: place.number,
            isRepeat: place.isRepeat))
        count += 1
        note(address, from: source)
      case .bad(let reason, let text):
        reject(source, line: first.map { $0 + offset }, text, reason)
      }
    }
    digest.update(data: keys)
    keys.removeAll(keepingCapacity: true)
    return requests
  }

  private func note(_ address: Address, from source: Source) {
    keys += address.key.utf8
    keys.append(0x0A)
    guard source == .standardInput, let spool else { return }
    spool.add(address)
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

extension SHA256.Digest {
  /// In lower case.
  var hex: String { ContentDigest(.sha256, Array(self))?.hex ?? "" }
}
