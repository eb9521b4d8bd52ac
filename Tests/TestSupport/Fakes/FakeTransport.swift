public import DownloadModel

/// A transport without a network: it answers each address as the test has scripted and writes down what was
/// asked, in which order, and how many at a time.
public final class FakeTransport: Transport {
  /// One call of `fetch`.
  public struct Attempt: Sendable, Equatable {
    /// `Address.key`.
    public let address: String
    /// Of this address, from 1.
    public let number: Int
    public let rangeStart: Int64?
    public let headerLines: [String]
  }

  public typealias Rule = @Sendable (_ request: TransferRequest, _ attempt: Int) -> FakeAnswer

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
  public init(holds: Bool = false) { monitor = Monitor(State(released: holds ? 0 : nil)) }

  /// Scripts an address: an answer an attempt, the last one for ever after.
  public func answer(_ address: Address, _ answers: FakeAnswer...) {
    answer(address) { [fallback = Self.unscripted(address)] _, attempt in
      answers.dropFirst(attempt - 1).first ?? answers.last ?? fallback
    }
  }

  /// Scripts an address by a rule.
  public func answer(_ address: Address, by rule: @escaping Rule) {
    monitor.withState { $0.rules[address.key] = rule }
  }

  /// Scripts every address that has no script of its own. Without it they fail for good.
  public func answerOthers(by rule: @escaping Rule) { monitor.withState { $0.fallback = rule } }

  /// Lets `count` more held transfers go, the earliest started first; those that have ended by cancellation
  /// count as well.
  public func release(_ count: Int) { monitor.withState { $0.released = $0.released.map { $0 + count } } }

  /// Holds nothing any more.
  public func releaseAll() { monitor.withState { $0.released = nil } }

  /// Every call of `fetch`, in order.
  public var attempts: [Attempt] { monitor.withState { $0.attempts } }
  /// Addresses in the order in which their transfers ended, well or not.
  public var ended: [String] { monitor.withState { $0.ended } }
  public var running: Int { monitor.withState { $0.running } }
  public var greatestConcurrency: Int { monitor.withState { $0.greatestConcurrency } }

  /// Suspends until so many transfers run at this moment.
  /// - Throws: after a long safety limit, or when the task is cancelled.
  public func wait(forRunning count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) running transfers") { $0.running == count }
  }

  /// Suspends until `fetch` has been called so often.
  public func wait(forAttempts count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) attempts") { $0.attempts.count >= count }
  }

  /// Suspends until so many transfers have ended.
  public func wait(forEnded count: Int) async throws(SupportFailure) {
    try await monitor.wait(for: "\(count) ended transfers") { $0.ended.count >= count }
  }

  public func fetch(_ transfer: TransferRequest, into sink: any BodySink) async throws(DownloadError)
    -> TransferReceipt
  {
    let (ticket, attempt, rule) = begin(transfer)
    defer {
      monitor.withState { state in
        state.running -= 1
        state.ended.append(transfer.address.key)
      }
    }
    let answer = (rule ?? { _, _ in Self.unscripted(transfer.address) })(transfer, attempt)
    try await hold(ticket, answer, transfer.address)
    let delivered = try deliver(answer, transfer, sink)
    switch answer.end {
    case .finished(let framing):
      return TransferReceipt(status: answer.head?.status ?? 0, bodyBytes: delivered, framing: framing)
    case .failed(let error): throw error.at(transfer.address)
    case .never:
      try await Self.cancellable(transfer.address) { () async throws(SupportFailure) in
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

  private func deliver(
    _ answer: FakeAnswer, _ transfer: TransferRequest, _ sink: any BodySink
  ) throws(DownloadError) -> Int64 {
    guard let head = answer.head, try sink.accept(head) != .drain else { return 0 }
    var delivered: Int64 = 0
    for chunk in answer.chunks {
      if Task.isCancelled { throw DownloadError.cancelled.at(transfer.address) }
      let result = chunk.withUnsafeBytes { bytes in
        Result { () throws(DownloadError) in try sink.write(bytes) }
      }
      try result.get()
      delivered += Int64(chunk.count)
    }
    return delivered
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
