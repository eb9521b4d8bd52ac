import DownloadModel
import DownloadScheduling
import Synchronization

/// One iteration of a list: between the loops, which tell it what happens, and the task that reads of it.
///
/// A lock and not an actor: loops say something of each file, and must not wait for a reader.
final class ListCall: Sendable {
  /// So many events wait for the reader before no further file begins.
  fileprivate static let mostUnread = 1024

  fileprivate struct State {
    var items: AnyIterator<DownloadItem>
    /// The number of the next item.
    var next = 0
    /// Files that were drawn and have not ended, with the position that was said last; nil before `began`.
    var open: [Int: Open] = [:]
    /// What was not read yet, but for progress.
    var unread: [DownloadEvent] = []
    var firstUnread = 0
    /// The latest progress that was not read yet.
    var progress: [Int: DownloadProgress] = [:]
    var reader: CheckedContinuation<Void, Never>?
    var source: CheckedContinuation<Void, Never>?
    /// Whether no further item is drawn.
    var isStopped = false
    /// Why the rest of the list does not come.
    var error: DownloadError?
    /// Whether the work has ended.
    var isOver = false
    /// Cancels the work; nil before it has begun.
    var work: Task<Void, Never>?

    var count: Int { unread.count - firstUnread }
  }

  fileprivate struct Open {
    let item: DownloadItem
    var position: Int64?
  }

  private let state: Mutex<State>
  private let names: @Sendable (Address) -> (number: Int, isRepeat: Bool)

  /// - Parameters:
  ///   - items: in memory; taking the next one must not block.
  ///   - names: the number of an address among those of its name.
  init(
    _ items: any Sequence<DownloadItem> & Sendable,
    names: @escaping @Sendable (Address) -> (number: Int, isRepeat: Bool)
  ) {
    state = Self.state(items)
    self.names = names
  }

  private static func state(_ items: some Sequence<DownloadItem> & Sendable) -> Mutex<State> {
    Mutex(State(items: AnyIterator(items.makeIterator())))
  }

  // MARK: The work

  /// Begins the work, once. It ends by itself, or by `cancel`.
  func begin(_ work: Task<Void, Never>) {
    let isStopped = state.withLock { state in
      state.work = work
      return state.isStopped
    }
    if isStopped { work.cancel() }
  }

  /// Ends the downloads under way; those that had begun still have their outcomes.
  func cancel() { stop(.cancelled) }

  /// Ends the downloads under way, for this reason if there was none before.
  func stop(_ error: DownloadError) {
    let (work, source) = state.withLock { state -> (Task<Void, Never>?, CheckedContinuation<Void, Never>?) in
      if state.isOver { return (nil, nil) }
      state.isStopped = true
      state.error = state.error ?? error
      return (state.work, state.takeSource())
    }
    source?.resume()
    work?.cancel()
  }

  /// The work has ended: after what is unread, the sequence ends. What a strategy drew and did not download
  /// was skipped.
  func finish() {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.isOver = true
      if state.error == nil {
        for (index, file) in state.open.sorted(by: { $0.key < $1.key }) {
          state.unread.append(.failed(index: index, file.item, .skipped))
        }
      }
      state.open = [:]
      state.progress = [:]
      state.work = nil
      return state.takeReader()
    }?.resume()
  }

  // MARK: From the loops

  func ended(_ request: DownloadRequest, _ result: Result<DownloadOutcome, DownloadError>) {
    wakeReader { state in
      guard let file = state.open.removeValue(forKey: request.id) else { return }
      state.progress[request.id] = nil
      if file.position == nil { state.unread.append(.began(index: request.id, file.item)) }
      switch result {
      case .success(let outcome):
        state.unread.append(.finished(index: request.id, file.item, outcome))
      case .failure(let error):
        state.unread.append(.failed(index: request.id, file.item, error))
        // No other file could be written either.
        if error.stopsWriting, !state.isStopped { (state.isStopped, state.error) = (true, error) }
      }
    }
  }

  func retries(_ request: DownloadRequest, _ next: NextAttempt, _ error: DownloadError) {
    wakeReader { state in
      guard let file = state.open[request.id] else { return }
      state.unread.append(.retrying(index: request.id, file.item, next, error))
    }
  }

  /// Looks at how far the files under way have come.
  func look(_ reader: ProgressReader) {
    wakeReader { state in
      // Within the lock: a file that has ended is not in the sample, and one that is there has not ended.
      for active in reader.take().active {
        guard let file = state.open[active.id] else { continue }
        let (position, total) = (active.meter.position, active.meter.total)
        if file.position == nil {
          state.unread.append(.began(index: active.id, file.item))
          state.open[active.id]?.position = 0
        }
        guard position != file.position ?? 0 else { continue }
        state.progress[active.id] = file.item.progress(active.id, at: position, of: total)
        state.open[active.id]?.position = position
      }
    }
  }

  private func wakeReader(_ change: (inout State) -> Void) {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      return state.count > 0 || !state.progress.isEmpty ? state.takeReader() : nil
    }?.resume()
  }

  // MARK: To the loops

  /// - Returns: the next request, if it can be had without waiting for the reader.
  fileprivate func draw() -> Drawn {
    let (drawn, reader) = state.withLock { state -> (Drawn, CheckedContinuation<Void, Never>?) in
      var rejects = false
      while true {
        guard !state.isStopped else { return (.end, rejects ? state.takeReader() : nil) }
        guard state.count < Self.mostUnread else { return (.later, rejects ? state.takeReader() : nil) }
        guard let item = state.items.next() else {
          state.isStopped = true
          return (.end, rejects ? state.takeReader() : nil)
        }
        let index = state.next
        state.next += 1
        switch DownloadRequest.parsed(item, index, names) {
        case .success(let request):
          state.open[index] = Open(item: item)
          return (.request(request), rejects ? state.takeReader() : nil)
        case .failure(let error):
          state.unread.append(.failed(index: index, item, error))
          rejects = true
        }
      }
    }
    reader?.resume()
    return drawn
  }

  fileprivate enum Drawn {
    case request(DownloadRequest)
    case later
    case end
  }

  /// Whether a request, or the end, can be had without waiting for the reader.
  fileprivate var goesOn: Bool { state.withLock { $0.isStopped || $0.count < Self.mostUnread } }

  /// Suspends until the reader has taken something, or no more is drawn. For one task.
  fileprivate nonisolated(nonsending) func waitForReader() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLock { state in
          guard !state.isStopped, !Task.isCancelled, state.count >= Self.mostUnread, state.source == nil
          else {
            return false
          }
          state.source = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.takeSource() }?.resume()
    }
  }

  // MARK: To the reader

  func next(isolation actor: isolated (any Actor)?) async throws(DownloadError) -> DownloadEvent? {
    if Task.isCancelled { cancel() }
    while true {
      let (event, source) = state.withLock { ($0.takeEvent(), $0.takeSourceIfRoom()) }
      source?.resume()
      if let event { return event }
      let end = state.withLock { state -> DownloadError?? in
        guard state.isOver, state.count == 0 else { return .none }
        defer { state.error = nil }
        return .some(state.error)
      }
      if let end {
        // Thrown once.
        if let error = end { throw error }
        return nil
      }
      await waitForEvent(isolation: actor)
    }
  }

  private func waitForEvent(isolation actor: isolated (any Actor)?) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation(isolation: actor) { continuation in
        let waits = state.withLock { state in
          guard state.count == 0, state.progress.isEmpty, !state.isOver else { return false }
          state.reader = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      // Its end wakes the reader, when all outcomes are there.
      cancel()
    }
  }
}

extension ListCall.State {
  fileprivate mutating func takeReader() -> CheckedContinuation<Void, Never>? {
    defer { reader = nil }
    return reader
  }

  fileprivate mutating func takeSource() -> CheckedContinuation<Void, Never>? {
    defer { source = nil }
    return source
  }

  fileprivate mutating func takeSourceIfRoom() -> CheckedContinuation<Void, Never>? {
    count < ListCall.mostUnread / 2 ? takeSource() : nil
  }

  /// What must not be lost first: then progress, whose files have not ended.
  fileprivate mutating func takeEvent() -> DownloadEvent? {
    guard firstUnread < unread.count else { return progress.popFirst().map { .progress($0.value) } }
    defer {
      firstUnread += 1
      if firstUnread == unread.count {
        unread.removeAll(keepingCapacity: true)
        firstUnread = 0
      } else if firstUnread >= ListCall.mostUnread {
        unread.removeFirst(firstUnread)
        firstUnread = 0
      }
    }
    return unread[firstUnread]
  }
}

/// The source of the run that a list is downloaded by.
struct ListCallSource: RequestSource {
  let call: ListCall

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    while !Task.isCancelled {
      switch call.draw() {
      case .request(let request): return request
      case .end: return nil
      case .later: await call.waitForReader()
      }
    }
    return nil
  }

  func takeAtOnce() -> DownloadRequest? {
    if case .request(let request) = call.draw() { request } else { nil }
  }

  var outlook: SourceOutlook { SourceOutlook(goesOn: call.goesOn, hasFirst: false) }
}

extension DownloadItem {
  fileprivate func progress(_ index: Int, at bytes: Int64, of total: Int64?) -> DownloadProgress {
    DownloadProgress(index: index, item: self, bytes: bytes, total: total)
  }
}

extension DownloadRequest {
  /// - Throws, as a result: `.badAddress`, with the address as far as it has no login.
  static func parsed(
    _ item: DownloadItem, _ id: Int, _ names: (Address) -> (number: Int, isRepeat: Bool)
  ) -> Result<DownloadRequest, DownloadError> {
    do {
      let address = try Address(item.address)
      let place = item.name == nil ? names(address) : (number: 0, isRepeat: false)
      return .success(
        DownloadRequest(
          id: id, address: address, outputName: item.name, checksum: item.checksum, nameNumber: place.number,
          isRepeat: place.isRepeat))
    } catch {
      return .failure(
        DownloadError(
          .badAddress, cause: .detail("\(error)"), address: Redaction.redactedAddress(item.address),
          activity: "reading an address"))
    }
  }
}
