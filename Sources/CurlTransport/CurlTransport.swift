import CCurl
public import DownloadModel
import Glibc

/// The transport over the system's libcurl.
public final class CurlTransport: Transport {
  private let loop: CurlLoop
  private let agent: CurlAgent
  private let tasks: LoopTaskExecutor
  private let proxies: ProxyRoutes

  /// Starts the loop's thread.
  /// - Throws: `DownloadError` when libcurl or the kernel refuses what a loop needs.
  public init(_ options: TransportOptions) throws(DownloadError) {
    proxies = options.proxies
    do {
      try Self.initializeLibrary()
      // A server that goes away while a request is written is an error of that transfer, not of the process.
      signal(SIGPIPE, SIG_IGN)
      loop = try CurlLoop(StallWatch(options.stallTimeout), options.rateLimit)
      tasks = LoopTaskExecutor(loop)
      agent = try CurlAgent(loop, options)
      // Twice the width: warm connections of a host outlive a lull and a redirect to a second host. But idle ones must not
      // take the descriptors that files need.
      try loop.start(
        agent, tasks, keepingConnections: min(max(16, options.width * 2), Self.descriptorLimit / 3))
      options.group.join(agent)
    } catch {
      let activity = "starting the network loop"
      guard let failure = error as? SystemFailure else {
        throw DownloadError(.transport, cause: .detail("\(error)"), activity: activity)
      }
      let isShortage = DownloadError.isShortage(failure.errno)
      throw DownloadError(
        isShortage ? .resources : .transport, cause: .errno(failure.errno), activity: activity,
        isPassing: isShortage)
    }
  }

  public nonisolated(nonsending) func fetch(
    _ transfer: TransferRequest, into sink: any BodySink
  ) async throws(DownloadError) -> TransferReceipt {
    switch try await run(transfer, into: sink, goesOn: false) {
    case .ended(let receipt): return receipt
    case .underWay(let running): return try await running.receipt()
    }
  }

  public nonisolated(nonsending) func start(
    _ transfer: TransferRequest, into sink: any BodySink
  ) async throws(DownloadError) -> TransferStage {
    try await run(transfer, into: sink, goesOn: true)
  }

  private nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any BodySink, goesOn: Bool
  ) async throws(DownloadError) -> TransferStage {
    guard let proxy = proxies[transfer.address.scheme] else {
      return try await ask(transfer, into: sink, goesOn: goesOn)
    }
    let triesLogin: Bool
    do throws(DownloadError) { triesLogin = try await proxy.enter() } catch {
      throw error.of(transfer.address)
    }
    defer { if triesLogin { proxy.left() } }
    return try await ask(transfer, into: sink, goesOn: goesOn)
  }

  private nonisolated(nonsending) func ask(
    _ transfer: TransferRequest, into sink: any BodySink, goesOn: Bool
  ) async throws(DownloadError) -> TransferStage {
    let isolation = #isolation
    if let isolation, isolation.unownedExecutor.asSerialExecutor() === loop {
      return try await agent.fetchFromLoop(transfer, into: sink, goesOn: goesOn, isolation: isolation)
    } else {
      return try await agent.fetch(transfer, into: sink, goesOn: goesOn)
    }
  }

  /// From now on so many connections to a host at most, idle ones included; nil for as many as are wanted. Those beyond
  /// that are closed as soon as no transfer has them. Never waits.
  /// - Parameter host: with its port, as `Address.hostAndPort` has it.
  public func keep(connectionsTo host: String, atMost count: Int?) {
    loop.keep(ConnectionQuota(host: host, count: count))
  }

  /// Cancels what runs, closes the connections and ends the thread, in this order.
  public func shutdown() async {
    await agent.close()
    await loop.stop()
  }

  /// Tasks that prefer it download without changing threads.
  public var taskExecutor: any TaskExecutor { tasks }

  /// Actors isolated on it are entered from a download without changing threads. They must never wait.
  public var serialExecutor: any SerialExecutor { loop }

  /// The version of libcurl at run time: "7.88.1".
  public static var libcurlVersion: String { String(cString: dlm_curl_version()) }

  /// RLIMIT_NOFILE of this process.
  private static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return max(8, Int(clamping: limit.rlim_cur))
  }

  static func initializeLibrary() throws(CurlFailure) {
    let code = libraryCode
    if code != CURLE_OK { throw CurlFailure(code) }
  }

  /// Once a process, before any other call (curl_global_init(3)).
  private static let libraryCode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}
