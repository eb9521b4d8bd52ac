package import DownloadModel
import Synchronization

/// A transport without a network: it answers each address as the test has scripted and writes down what was
/// asked, in which order, and how many at a time.
package final class FakeTransport: Transport {
  /// One call of `run`.
  package struct Attempt: Sendable, Equatable {
    /// `Address.key`.
    package let address: String
    /// Of this address, from 1.
    package let number: Int
    package let rangeStart: Int64?
    package let headerLines: [String]
  }

  package typealias Rule = @Sendable (_ request: TransferRequest, _ attempt: Int) -> FakeAnswer

  private struct State {
    var rules: [String: Rule] = [:]
    var fallback: Rule?
    var attempts: [Attempt] = []
    var ended: [String] = []
    var running = 0
    var greatestConcurrency = 0
    /// How many held transfers may go, counted in the order of their starts; nil holds none.
    var released: Int?
  }

  private let monitor: Monitor<State>

  /// - Parameter holds: every transfer waits before its head until `release` lets it go.
  package init(holds: Bool = false) { monitor = Monitor(State(released: holds ? 0 : nil)) }

  /// Scripts an address: an answer an attempt, the last one for ever after.
  package func answer(_ address: Address, _ answers: FakeAnswer...) {
    answer(address) { [fallback = Self.unscripted(address)] _, attempt in
      answers.dropFirst(attempt - 1).first ?? answers.last ?? fallback
    }
  }

  /// Scripts an address by a rule.
  package func answer(_ address: Address, by rule: @escaping Rule) {
    monitor.withState { $0.rules[address.key] = rule }
  }

  /// Scripts every address that has no script of its own. Without it they fail for good.
  package func answerOthers(by rule: @escaping Rule) { monitor.withState { $0.fallback = rule } }

  /// Lets `count` more held transfers go, the earliest started first; those that have ended by cancellation
  /// count as well.
  package func release(_ count: Int) { monitor.withState { $0.released = $0.released.map { $0 + count } } }

  /// Holds nothing any more.
  package func releaseAll() { monitor.withState { $0.released = nil } }

  /// Every call of `run`, in order.
  package var attempts: [Attempt] { monitor.withState { $0.attempts } }
  /// Addresses in the order in which their transfers ended, well or not.
  package var ended: [String] { monitor.withState { $0.ended } }
  package var running: Int { monitor.withState { $0.running } }
  package var greatestConcurrency: Int { monitor.withState { $0.greatestConcurrency } }

  /// Suspends until so many transfers run at this moment.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  package func wait(forRunning count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) running transfers") { $0.running == count }
  }

  /// Suspends until `run` has been called so often.
  package func wait(forAttempts count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) attempts") { $0.attempts.count >= count }
  }

  /// Suspends until so many transfers have ended.
  package func wait(forEnded count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) ended transfers") { $0.ended.count >= count }
  }

  /// A sink that keeps its transfer (`ByteSink.keep`), and one that calls its body splittable, get the rest
  /// of it from a task of the transfer's own; any other from the caller's.
  package func run(_ transfer: TransferRequest, into sink: any ByteSink) async throws(DownloadError)
    -> TransferStage
  {
    if transfer.isStopped { throw DownloadError.cancelled.at(transfer.address) }
    let (ticket, attempt, rule) = begin(transfer)
    let answer = (rule ?? { _, _ in Self.unscripted(transfer.address) })(transfer, attempt)
    let fake = FakeTransfer(transfer, sink, answer, ticket)
    do throws(DownloadError) {
      guard let receipt = try await goOn(fake) else { return .underWay(goOnUnattended(fake)) }
      end(fake)
      return .ended(receipt)
    } catch {
      if error.code == .cancelled, Task.isCancelled, sink.keep(fake.running()) {
        _ = goOnUnattended(fake)
      } else {
        end(fake)
      }
      throw error
    }
  }

  private func end(_ fake: FakeTransfer) {
    monitor.withState { state in
      state.running -= 1
      state.ended.append(fake.request.address.key)
    }
  }

  private func goOnUnattended(_ fake: FakeTransfer) -> RunningTransfer {
    let running = fake.running()
    // Unstructured: it outlives the task that began it.
    fake.set(
      Task {
        while true {
          do throws(DownloadError) {
            guard let receipt = try await self.goOn(fake) else { continue }
            self.end(fake)
            return running.end(.success(receipt))
          } catch {
            self.end(fake)
            return running.end(.failure(error))
          }
        }
      })
    return running
  }

  /// Goes on from where the transfer stands: it may have been cancelled in the middle, and kept.
  /// - Returns: nil when the sink has just called the body splittable.
  private func goOn(_ fake: FakeTransfer) async throws(DownloadError) -> TransferReceipt? {
    let (request, answer) = (fake.request, fake.answer)
    if !fake.isAnswered {
      try await hold(fake.ticket, answer, request.address)
      if try fake.showHead() == .splittable { return nil }
    }
    let delivered = try fake.deliver()
    switch answer.end {
    case .finished(let proof):
      return TransferReceipt(status: answer.head?.status ?? 0, bodyBytes: delivered, proof: proof)
    case .failed(let error): throw error.at(request.address)
    case .never:
      try await Self.cancellable(request.address) { () async throws(SupportFailure) in
        try await self.monitor.wait(for: "a cancellation") { _ in false }
      }
      throw DownloadError(.transport, cause: .detail("a wait without end has ended"))
    }
  }

  private func begin(_ transfer: TransferRequest) -> (ticket: Int, attempt: Int, rule: Rule?) {
    monitor.withState { state in
      let key = transfer.address.key
      let number = state.attempts.count { $0.address == key } + 1
      state.attempts.append(
        Attempt(
          address: key, number: number, rangeStart: transfer.rangeStart, headerLines: transfer.headerLines))
      state.running += 1
      state.greatestConcurrency = max(state.greatestConcurrency, state.running)
      return (state.attempts.count, number, state.rules[key] ?? state.fallback)
    }
  }

  private func hold(_ ticket: Int, _ answer: FakeAnswer, _ address: Address) async throws(DownloadError) {
    try await Self.cancellable(address) { () async throws(SupportFailure) in
      try await self.monitor.wait(for: "a release of \(address)") { $0.released.map { $0 >= ticket } ?? true }
      try await answer.gate?.wait()
    }
  }

  /// Says a failed wait in the transport's own words.
  private static func cancellable(
    _ address: Address, _ wait: () async throws(SupportFailure) -> Void
  ) async throws(DownloadError) {
    do throws(SupportFailure) {
      try await wait()
    } catch {
      if Task.isCancelled { throw DownloadError.cancelled.at(address) }
      throw DownloadError(.transport, cause: .detail(error.description), address: address.key)
    }
    if Task.isCancelled { throw DownloadError.cancelled.at(address) }
  }

  private static func unscripted(_ address: Address) -> FakeAnswer {
    .failure(
      DownloadError(.transport, cause: .detail("not scripted"), address: address.key, activity: "faking"))
  }
}

/// One transfer of a `FakeTransport`, and how far it has come.
private final class FakeTransfer: Sendable {
  let request: TransferRequest
  let answer: FakeAnswer
  let ticket: Int
  private let sink: any ByteSink
  private let state = Lock(State())

  private struct State {
    var disposition: BodyDisposition?
    var chunks = 0
    var delivered: Int64 = 0
    var running: RunningTransfer?
    /// The one that goes on unattended.
    var task: Task<Void, Never>?
    var isCancelled = false
  }

  init(_ request: TransferRequest, _ sink: any ByteSink, _ answer: FakeAnswer, _ ticket: Int) {
    (self.request, self.sink, self.answer, self.ticket) = (request, sink, answer, ticket)
  }

  /// Whether the sink has judged the head.
  var isAnswered: Bool { state.withLock { $0.disposition != nil } }

  func showHead() throws(DownloadError) -> BodyDisposition {
    var disposition = BodyDisposition.drain
    if let head = answer.head { disposition = try sink.accept(head) }
    state.withLock { [disposition] in $0.disposition = disposition }
    return disposition
  }

  /// Delivers the chunks that are left.
  /// - Returns: the bytes of all.
  func deliver() throws(DownloadError) -> Int64 {
    if [.drain, .enough].contains(state.withLock { $0.disposition }) { return 0 }
    while let chunk = answer.chunks.dropFirst(state.withLock { $0.chunks }).first {
      if Task.isCancelled { throw DownloadError.cancelled.at(request.address) }
      let result = chunk.withUnsafeBytes { bytes in
        Result { () throws(DownloadError) in try sink.write(bytes) }
      }
      let demand = try result.get()
      state.withLock { state in
        state.chunks += 1
        state.delivered += Int64(chunk.count)
      }
      if demand == .enough { break }
    }
    return state.withLock { $0.delivered }
  }

  // MARK: Unattended

  func running() -> RunningTransfer {
    state.withLock { state in
      if let running = state.running { return running }
      // Unstructured: a cancellation handler must not wait for the locks of a sink.
      let running = RunningTransfer { [weak self] waiter in Task { self?.cancel(waiter) } }
      state.running = running
      return running
    }
  }

  func set(_ task: Task<Void, Never>) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  private func cancel(_ waiter: RunningTransfer.Waiter?) {
    if let waiter, let running = state.withLock({ $0.running }), sink.keep(running) {
      return running.detach(waiter, DownloadError.cancelled.at(request.address))
    }
    state.withLock { state in
      state.isCancelled = true
      return state.task
    }?.cancel()
  }
}
