import DownloadModel
import FileReceiving
import Synchronization

/// One iteration of a list: the source of its run, and a stream of its files' events. It has a lock and is not an
/// actor, because loops report each file and must not wait for a reader.
final class ListCall: RequestSource {
  /// An event, or `nil` at the end.
  typealias Next = Result<DownloadEvent?, DownloadError>

  /// Unread events after which no further file starts.
  private static let mostUnread = 1024

  private struct State {
    /// Files that were taken and have not ended.
    var open: [Int: Open] = [:]
    /// Unread events, without progress: first `leaving`, from its end, and then `arrived`.
    var leaving: [DownloadEvent] = []
    var arrived: [DownloadEvent] = []
    var progress: [Int: DownloadProgress] = [:]
    var isStopped = false
    /// Why the rest of the list is not downloaded.
    var error: DownloadError?
    var isOver = false

    var unread: Int { leaving.count + arrived.count }

    /// Reports once that a file has started; `nil` if it has ended.
    mutating func begin(_ index: Int) -> Open? {
      if let file = open[index], file.position == nil {
        arrived.append(.began(index: index, file.item))
        open[index]?.position = 0
      }
      return open[index]
    }

    /// Returns outcomes before progress, whose files have not ended.
    /// - Returns: `nil` before an event; an inner `nil` at the end, whose error is returned once.
    mutating func takeEvent() -> Next? {
      if leaving.isEmpty { (leaving, arrived) = (arrived.reversed(), []) }
      if let event = leaving.popLast() { return .success(event) }
      if let next = progress.popFirst() { return .success(.progress(next.value)) }
      guard isOver else { return nil }
      defer { error = nil }
      return error.map { .failure($0) } ?? .success(nil)
    }
  }

  private struct Open {
    let item: DownloadItem
    /// The last reported position; `nil` before `began`.
    var position: Int64?
  }

  private let items: Lock<AnyIterator<(offset: Int, element: DownloadItem)>>
  private let state = Waiters(State())
  private let names: NameNumbers

  init(_ items: sending AnyIterator<DownloadItem>, names: NameNumbers) {
    self.items = Lock(AnyIterator(items.enumerated().makeIterator()))
    self.names = names
  }

  // MARK: For the run

  func takeAtOnce() -> DownloadRequest? {
    state.withLock { state in
      while !state.isStopped, state.unread < Self.mostUnread {
        guard let (index, item) = items.withLock({ $0.next() }) else {
          state.isStopped = true
          break
        }
        do throws(DownloadError) {
          let request = try DownloadRequest(item, index, names)
          state.open[index] = Open(item: item)
          return request
        } catch {
          state.arrived.append(.failed(index: index, item, error))
        }
      }
      return nil
    }
  }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    // It resumes when half of the events are read, and not at each.
    while await state.wait({ $0.isStopped || $0.unread < Self.mostUnread / 2 ? true : nil }) != nil {
      let request = takeAtOnce()
      if request != nil || state.withLock({ $0.isStopped }) { return request }
    }
    return nil
  }

  var outlook: SourceOutlook {
    SourceOutlook(goesOn: state.withLock { $0.isStopped || $0.unread < Self.mostUnread })
  }

  /// Takes no more items; `error` is the reason unless there is an earlier one.
  func stop(_ error: DownloadError) {
    state.withLock { state in
      if state.isOver { return }
      state.isStopped = true
      state.error = state.error ?? error
    }
  }

  /// The run has ended: after the unread events, the sequence ends. Requests that a strategy took and did not download
  /// were skipped.
  func finish() {
    state.withLock { state in
      state.isOver = true
      if state.error == nil {
        for (index, file) in state.open.sorted(by: { $0.key < $1.key }) {
          state.arrived.append(.failed(index: index, file.item, .skipped))
        }
      }
      state.open = [:]
      state.progress = [:]
    }
  }

  // MARK: From the loops

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    state.withLock { state in
      guard let file = state.begin(request.id) else { return }
      (state.open[request.id], state.progress[request.id]) = (nil, nil)
      switch result {
      case .success(let outcome):
        state.arrived.append(.finished(index: request.id, file.item, outcome))
      case .failure(let error):
        state.arrived.append(.failed(index: request.id, file.item, error))
        // No other file could be written, either.
        if error.stopsWriting, !state.isStopped { (state.isStopped, state.error) = (true, error) }
      }
    }
  }

  func retries(_ request: DownloadRequest, _ next: NextAttempt, _ error: DownloadError) {
    state.withLock { state in
      guard let file = state.begin(request.id) else { return }
      state.arrived.append(.retrying(index: request.id, file.item, next, error))
    }
  }

  func look(_ reader: ProgressFeed.Reader) {
    state.withLock { state in
      // Under the lock: a file that has ended is not in the sample, and one in the sample has not ended.
      for active in reader.take().active {
        let position = active.meter.position
        let total = active.meter.total
        guard let file = state.begin(active.id), position != file.position else { continue }
        state.progress[active.id] = DownloadProgress(index: active.id, item: file.item, bytes: position, total: total)
        state.open[active.id]?.position = position
      }
    }
  }

  // MARK: For the reader

  /// Suspends until there is an event, or the end; `nil` for a cancelled task.
  nonisolated(nonsending) func event() async -> Next? {
    await state.wait { $0.takeEvent() }
  }

  func takeEvent() -> Next? { state.withLock { $0.takeEvent() } }
}

extension DownloadRequest {
  /// - Throws: `.badAddress`, with the URL but without its login; `.configuration` for a header line, or for an http
  ///   mirror that would undo the URL's https (HTTP rule 48).
  init(_ item: DownloadItem, _ id: Int, _ names: NameNumbers) throws(DownloadError) {
    let address = try Self.address(item.address)
    self.init(id: id, address: address, wishes: try Self.wishes(item, address), isFirst: item.isFirst)
    number(by: names)
  }

  private static func address(_ text: String) throws(DownloadError) -> Address {
    do { return try Address(text) } catch {
      throw DownloadError(
        .badAddress, cause: .detail("\(error)"), address: Redaction.redactedAddress(text),
        activity: "reading a URL")
    }
  }

  private static func wishes(_ item: DownloadItem, _ address: Address) throws(DownloadError) -> Wishes? {
    if item.name == nil, item.checksum == nil, item.headerLines.isEmpty, item.mirrors.isEmpty { return nil }
    var mirrors: [Address] = []
    for text in item.mirrors {
      let mirror = try self.address(text)
      if address.scheme.isEncrypted, !mirror.scheme.isEncrypted, item.checksum?.algorithm.findsForgery != true {
        throw DownloadConfiguration.refusal("an http mirror of an https URL needs a SHA-2 checksum").at(mirror)
      }
      mirrors.append(mirror)
    }
    do throws(DownloadError) {
      return Wishes(
        outputName: item.name, checksum: item.checksum,
        headerLines: try DownloadConfiguration.checkedLines(item.headerLines), mirrors: mirrors)
    } catch { throw error.at(address) }
  }
}
