import CCurl
package import DownloadModel
import Glibc
import Synchronization

/// The transport over the system's libcurl.
package final class CurlTransport: Transport {
  private let loop: CurlLoop
  let agent: CurlAgent
  private let tasks: LoopTaskExecutor
  private let options: TransportOptions

  /// - Throws: when libcurl or the kernel refuses what a loop needs.
  package init(_ options: TransportOptions) throws(DownloadError) {
    self.options = options
    do throws(CurlFailure) {
      guard Self.libraryCode == CURLE_OK else { throw CurlFailure(Self.libraryCode) }
      // A server that closes while a request is written must not end the process.
      signal(SIGPIPE, SIG_IGN)
      loop = try CurlLoop(StallWatch(options.stallTimeout), options.rateLimit)
      tasks = LoopTaskExecutor(loop)
      agent = try CurlAgent(loop, options)
      // Twice the width, so that open connections of a host outlast a pause and a redirect to a second host; but not
      // the descriptors that files need.
      try loop.start(agent, tasks, keepingConnections: min(max(16, options.width * 2), Self.descriptorLimit / 3))
      options.group.join(agent)
    } catch { throw error.error("starting the network loop") }
  }

  package nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage {
    if transfer.address.scheme == .data { return .ended(try Self.deliver(transfer, to: sink)) }
    var triedProxy: Proxy?
    if let proxy = options.proxies[transfer.address.scheme], try await tries(proxy, transfer) { triedProxy = proxy }
    let isolation = #isolation
    let stage =
      if let isolation, isolation.unownedExecutor.asSerialExecutor() === loop {
        try await agent.run(transfer, into: sink, triedProxy, isolation: isolation)
      } else {
        try await agent.run(transfer, into: sink, triedProxy, isolation: agent)
      }
    // If the task was cancelled just before the head came, it must now cancel the running transfer as its waiter.
    if case .underWay(let running) = stage, Task.isCancelled { return .ended(try await running.receipt()) }
    return stage
  }

  /// A file that stands in its address comes without the network.
  @inline(never)
  private static func deliver(
    _ transfer: TransferRequest, to sink: any ByteSink
  ) throws(DownloadError) -> TransferReceipt {
    guard let data = transfer.address.data else { throw DownloadError(.badAddress).of(transfer.address) }
    let isKnown = transfer.headerLines.contains { $0.hasPrefix("If-None-Match") }
    // Another file has another address.
    let lines = ["Content-Type: \(data.mediaType)\n", "Content-Length: \(data.bytes.count)\n", "ETag: \"data\"\n"]
    let starts = lines.indices.map { lines[..<$0].joined().utf8.count }
    let head = ResponseHead(status: isKnown ? 304 : 200, block: Array(lines.joined().utf8), starts: starts)
    let isWritten = try sink.accept(head) == .write
    if isWritten {
      try data.bytes.withUnsafeBytes { bytes in Result { () throws(DownloadError) in _ = try sink.write(bytes) } }.get()
    }
    return TransferReceipt(status: head.status, bodyBytes: isWritten ? Int64(data.bytes.count) : 0, proof: .length)
  }

  /// Whether the transfer tries the proxy's login. In a function of its own, so that only a transfer through a proxy
  /// has room for the wait.
  @inline(never)
  private nonisolated(nonsending) func tries(
    _ proxy: Proxy, _ transfer: TransferRequest
  ) async throws(DownloadError) -> Bool {
    do { return try await proxy.enter() } catch { throw error.of(transfer.address) }
  }

  /// Sets how many connections to a host (`Address.hostAndPort`), idle ones included, may be kept; nil for no limit.
  /// Those beyond that are closed as soon as no transfer uses them and the loop is not held. Never waits.
  package func keep(connectionsTo host: String, atMost count: Int?) {
    loop.inbox.keep((host, count))
  }

  /// How many connections to a host are open, idle ones included.
  package func connections(to host: String) -> Int { loop.openConnections.count(host) }

  /// What is known of the transfers under way that fill a file, the one that began first at the front.
  package func details(of meter: TransferMeter) async -> [TransferDetails] { await agent.details(of: meter) }

  package func cancel(_ meter: TransferMeter) async -> Bool { await agent.cancel(meter) }

  /// Not only while transfers are paused: between two pauses they are at the limit as well.
  package var isAtLimit: Bool {
    options.rateLimit.map { $0.pause(at: CurlLoop.now - RateLimiter.allowance / 2) > 0 } ?? false
  }

  /// Holds all transfers, or lets them go on: held, none sends or receives, and no limit of time counts. Never waits.
  package func hold(_ isHeld: Bool) { loop.inbox.hold(isHeld) }

  /// Cancels running transfers, closes the connections and ends the thread, in this order.
  package func shutdown() async {
    await agent.close()
    await loop.inbox.stop()
  }

  /// Tasks that prefer this executor download without changing threads.
  package var taskExecutor: any TaskExecutor { tasks }

  /// Actors isolated on this executor are entered from a download without changing threads. They must never block.
  package var serialExecutor: any SerialExecutor { loop }

  /// The version of libcurl at run time: "7.88.1".
  package static var libcurlVersion: String { String(cString: dlm_curl_version()) }

  private static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return max(8, Int(clamping: limit.rlim_cur))
  }

  /// Called once in a process, before any other call (curl_global_init(3)).
  static let libraryCode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// The network loops of one run. Together they know on which connections a host answers. The lock is taken where
/// something is unusual or a loop begins or ends, not for each file.
package final class TransportGroup: Sendable {
  private let state = Lock(State())
  /// How many loops have a request that waits for the first answer of its connection; only then answers are counted.
  private let watchers = Atomic<Int>(0)

  private struct State {
    var agents: [CurlAgent] = []
    var trials: [String: OvertakenRule.Trials] = [:]
  }

  package init() {}

  var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  func watch(_ isOn: Bool) { watchers.add(isOn ? 1 : -1, ordering: .relaxed) }

  var agents: [CurlAgent] { state.withLock { $0.agents } }

  func join(_ agent: CurlAgent) { state.withLock { $0.agents.append(agent) } }

  func leave(_ agent: CurlAgent) { state.withLock { $0.agents.removeAll { $0 === agent } } }

  func trials(at host: String) -> OvertakenRule.Trials { state.withLock { $0.trials[host] ?? OvertakenRule.Trials() } }

  func change(_ host: String, _ body: (inout OvertakenRule.Trials) -> Void) {
    state.withLock { body(&$0.trials[host, default: OvertakenRule.Trials()]) }
  }
}

/// Identifies one transfer of a loop, so that a late cancellation cannot hit the next one.
struct TransferID: Hashable { let number: UInt64 }

struct Cancellation {
  enum Reason {
    /// The task that began it was cancelled while it waited in `Transport.run`.
    case starter
    /// A task that awaited the transfer in flight was cancelled.
    case waiter(RunningTransfer.Waiter)
    /// `RunningTransfer.cancel`: the sink cannot keep the transfer.
    case order
  }

  let id: TransferID
  let reason: Reason
}

/// Where the end of a transfer is reported. Used on the loop's thread only.
struct Completion {
  /// Unsafe in name only: a stored continuation is resumed here alone and removed in the same step, and `CurlAgent`
  /// calls `end` once. The checked kind would cost an allocation for each file.
  typealias Continuation = UnsafeContinuation<Result<TransferStage, DownloadError>, Never>

  let id: TransferID
  /// The proxy whose login this transfer tries, while other transfers wait for the result.
  private let triedProxy: Proxy?
  private var target: Target

  private enum Target {
    /// The task that began the transfer waits in `Transport.run`.
    case starter(Continuation)
    /// The starter has gone on: it got the running transfer, or it was cancelled and the sink kept the transfer.
    case running(RunningTransfer)
  }

  init(_ id: TransferID, _ triedProxy: Proxy?, _ continuation: Continuation) {
    self.id = id
    self.triedProxy = triedProxy
    target = .starter(continuation)
  }

  /// The sink accepted the head. A splittable body resumes the starter: as a job, so outside of libcurl's callback.
  mutating func headArrived(isSplittable: Bool, on loop: CurlLoop, _ answer: @autoclosure () -> RunningTransfer.Answer)
  {
    switch target {
    case .running(let running): running.answered(answer())
    case .starter(let continuation):
      guard isSplittable else { return }
      let running = makeRunning(on: loop)
      running.answered(answer())
      target = .running(running)
      continuation.resume(returning: .success(.underWay(running)))
    }
  }

  /// Asks the sink whether to keep a transfer that was cancelled; then the cancelled task gets the error.
  /// - Parameter answer: nil before the sink accepted the head.
  mutating func isKept(
    by sink: any ByteSink, after reason: Cancellation.Reason, on loop: CurlLoop, _ answer: RunningTransfer.Answer?,
    _ error: DownloadError
  ) -> Bool {
    switch (target, reason) {
    case (.starter(let continuation), .starter):
      let running = makeRunning(on: loop)
      if let answer { running.answered(answer) }
      guard sink.keep(running) else { return false }
      target = .running(running)
      continuation.resume(returning: .failure(error))
      return true
    // The starter got it meanwhile, and will cancel once more as a waiter (CurlTransport.run).
    case (.running, .starter): return true
    case (.running(let running), .waiter(let waiter)):
      guard sink.keep(running) else { return false }
      running.detach(waiter, error)
      return true
    case (_, .order), (.starter, .waiter): return false
    }
  }

  func end(_ result: Result<TransferReceipt, DownloadError>) {
    triedProxy?.left()
    switch target {
    case .starter(let continuation): continuation.resume(returning: result.map { .ended($0) })
    case .running(let running): running.end(result)
    }
  }

  private func makeRunning(on loop: CurlLoop) -> RunningTransfer {
    RunningTransfer { [id] waiter in
      loop.inbox.cancel(Cancellation(id: id, reason: waiter.map { .waiter($0) } ?? .order))
    }
  }
}
