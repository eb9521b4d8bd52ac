import CCurl
package import DownloadModel
import Glibc
import Synchronization

/// The transport over the system's libcurl. It owns one network loop, its thread and its connections.
package final class CurlTransport: Transport {
  private let loop: CurlLoop
  let agent: CurlAgent
  private let tasks: LoopTaskExecutor
  private let options: TransportOptions
  /// Runs the transfers over other schemes than HTTP, for which libcurl waits for some replies on the loop's thread:
  /// other hosts' transfers must not wait there, too. Made for the first such transfer.
  private let fileServers = Lock(FileServers())
  private let servesFileServers: Bool
  private let localFiles = LocalFiles()

  private struct FileServers {
    var transport: CurlTransport?
    var isHeld = false
  }

  /// - Throws: if libcurl or the kernel refuses a resource that the loop needs.
  package convenience init(_ options: TransportOptions) throws(DownloadError) {
    try self.init(options, servesFileServers: false)
  }

  private init(_ options: TransportOptions, servesFileServers: Bool) throws(DownloadError) {
    self.options = options
    self.servesFileServers = servesFileServers
    do throws(CurlFailure) {
      guard Self.libraryCode == CURLE_OK else { throw CurlFailure(Self.libraryCode) }
      // A server that closes while a request is written must not terminate the process.
      signal(SIGPIPE, SIG_IGN)
      loop = try CurlLoop(StallWatch(options.stallTimeout))
      tasks = LoopTaskExecutor(loop)
      agent = try CurlAgent(loop, options)
      // Twice the width, so that a host's open connections survive a pause and a redirect to a second host; but not the
      // descriptors that files need.
      try loop.start(agent, tasks, keepingConnections: min(max(16, options.width * 2), Self.descriptorLimit / 3))
      options.group.join(agent)
    } catch { throw error.error("starting the network loop") }
  }

  package nonisolated(nonsending) func run(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage {
    if !transfer.address.scheme.isHTTP, let stage = try await runElsewhere(transfer, into: sink) { return stage }
    var triedProxy: Proxy?
    if let proxy = options.proxies[transfer.address.scheme], try await tries(proxy, transfer) { triedProxy = proxy }
    let isolation = #isolation
    let stage =
      if let isolation, isolation.unownedExecutor.asSerialExecutor() === loop {
        try await agent.run(transfer, into: sink, triedProxy, isolation: isolation)
      } else {
        try await agent.run(transfer, into: sink, triedProxy, isolation: agent)
      }
    // If the task was cancelled just before the head arrived, it must now cancel the running transfer as its waiter.
    if case .underWay(let running) = stage, Task.isCancelled { return .ended(try await running.receipt()) }
    return stage
  }

  /// - Returns: `nil` for a transfer that belongs on this loop.
  @inline(never)
  private nonisolated(nonsending) func runElsewhere(
    _ transfer: TransferRequest, into sink: any ByteSink
  ) async throws(DownloadError) -> TransferStage? {
    if transfer.address.scheme == .data { return .ended(try Self.deliver(transfer, to: sink)) }
    if transfer.address.scheme == .s3 {
      do { try await options.storage.prepare() } catch { throw error.of(transfer.address) }
    }
    if servesFileServers || transfer.address.scheme == .s3 { return nil }
    if transfer.address.scheme == .file {
      do { return .ended(try await deliverFile(transfer, to: sink)) } catch { throw error.of(transfer.address) }
    }
    let transport = try loopForFileServers()
    do { return try await transport.run(transfer, into: sink) } catch {
      guard case .hostKey(.unknown, _)? = error.cause, await options.ssh.accepts(transfer.address) else { throw error }
      return try await transport.run(transfer, into: sink)
    }
  }

  private func loopForFileServers() throws(DownloadError) -> CurlTransport {
    try fileServers.withLock { fileServers throws(DownloadError) in
      if let known = fileServers.transport { return known }
      var options = options
      options.group = TransportGroup()
      let new = try CurlTransport(options, servesFileServers: true)
      if fileServers.isHeld { new.hold(true) }
      fileServers.transport = new
      return new
    }
  }

  private var apart: CurlTransport? { fileServers.withLock { $0.transport } }

  /// Delivers the file inside a `data:` URL, without the network.
  @inline(never)
  private static func deliver(
    _ transfer: TransferRequest, to sink: any ByteSink
  ) throws(DownloadError) -> TransferReceipt {
    guard let data = transfer.address.data else { throw DownloadError(.badAddress).of(transfer.address) }
    let isKnown = transfer.headerLines.contains { $0.hasPrefix("If-None-Match") }
    // A constant tag is enough: another file has another URL.
    let lines = ["Content-Type: \(data.mediaType)", "Content-Length: \(data.bytes.count)", "ETag: \"data\""]
    let head = ResponseHead(status: isKnown ? 304 : 200, lines: lines)
    let isWritten = try sink.accept(head) == .write
    if isWritten {
      try data.bytes.withUnsafeBytes { bytes in Result { () throws(DownloadError) in _ = try sink.write(bytes) } }.get()
    }
    return TransferReceipt(status: head.status, bodyBytes: isWritten ? Int64(data.bytes.count) : 0, proof: .length)
  }

  /// Delivers a file of this machine.
  @inline(never)
  private nonisolated(nonsending) func deliverFile(
    _ transfer: TransferRequest, to sink: any ByteSink
  ) async throws(DownloadError) -> TransferReceipt {
    let path = String(utf8: PercentEncoding.decode(transfer.address.path))
    let file = try await localFiles.open(path, from: transfer.rangeStart)
    let result: Result<TransferReceipt, DownloadError>
    do { result = .success(try await deliver(file, transfer, to: sink)) } catch { result = .failure(error) }
    await localFiles.close(file)
    return try result.get()
  }

  private nonisolated(nonsending) func deliver(
    _ file: LocalFiles.File, _ transfer: TransferRequest, to sink: any ByteSink
  ) async throws(DownloadError) -> TransferReceipt {
    let head = file.answer.head(isUnchanged: file.answer.isUnchanged(transfer.headerLines))
    guard try sink.accept(head) == .write else {
      return TransferReceipt(status: head.status, bodyBytes: 0, proof: .length)
    }
    let limiters = options.limits.limiters(of: transfer.address)
    let start = file.answer.start ?? 0
    var position = start
    while position < file.answer.size ?? 0 {
      if Task.isCancelled || transfer.isStopped { throw .cancelled }
      if fileServers.withLock({ $0.isHeld }) {
        try? await Task.sleep(for: .milliseconds(50))
        continue
      }
      let count = limiters.map { Int(clamping: $0.bytesPerSecond / 4) }.min() ?? LocalFiles.pieceLength
      let bytes = try await localFiles.read(min(max(1024, count), LocalFiles.pieceLength), of: file, at: position)
      if bytes.isEmpty { throw DownloadError(.shortBody, "it has become shorter", "reading", isTransient: true) }
      let now = CurlLoop.now
      let paid = limiters.map { $0.pay(for: bytes.count, at: now) }.max() ?? now
      // A clock's sleep ends early only for a cancelled task.
      if paid > now { try? await Task.sleep(for: .nanoseconds(Int64(paid - now))) }
      let demand = try bytes.withUnsafeBytes { bytes in
        Result { () throws(DownloadError) in try sink.write(bytes) }
      }.get()
      position += Int64(bytes.count)
      if demand == .enough { break }
    }
    return TransferReceipt(status: head.status, bodyBytes: position - start, proof: .length)
  }

  /// Whether the transfer tries the proxy's login. A function of its own, so that only a transfer through a proxy has
  /// room for the wait.
  @inline(never)
  private nonisolated(nonsending) func tries(
    _ proxy: Proxy, _ transfer: TransferRequest
  ) async throws(DownloadError) -> Bool {
    do { return try await proxy.enter() } catch { throw error.of(transfer.address) }
  }

  /// Sets how many connections to a host (`Address.hostAndPort`), idle ones included, may be kept; `nil` for no limit.
  /// Excess connections are closed as soon as no transfer uses them and the loop is not paused. Never waits.
  package func keep(connectionsTo host: String, atMost count: Int?) {
    loop.inbox.keep((host, count))
    apart?.keep(connectionsTo: host, atMost: count)
  }

  /// Open connections to a host, idle ones included.
  package func connections(to host: String) -> Int {
    loop.openConnections.count(host) + (apart?.connections(to: host) ?? 0)
  }

  /// Details of the transfers in flight for a file, the oldest first.
  package func details(of meter: TransferMeter) async -> [TransferDetails] {
    await agent.details(of: meter) + (apart?.details(of: meter) ?? [])
  }

  /// A transfer that is under way is ended by the task that awaits it (`RunningTransfer.receipt`).
  package func cancel(_ meter: TransferMeter) async {
    await agent.cancel(meter)
    await apart?.cancel(meter)
  }

  /// Not only while transfers are paused: between two pauses they are at the limit, too.
  package func isAtLimit(at place: Address) -> Bool {
    options.limits.hold(place, at: CurlLoop.now)
  }

  /// Pauses or resumes all transfers. While paused, none sends or receives, and no time limit counts. Never waits.
  package func hold(_ isHeld: Bool) {
    loop.inbox.hold(isHeld)
    fileServers.withLock { fileServers in
      fileServers.isHeld = isHeld
      fileServers.transport?.hold(isHeld)
    }
  }

  /// Cancels running transfers, then closes the connections, then ends the thread.
  package func shutdown() async {
    await apart?.shutdown()
    await agent.close()
    await loop.inbox.stop()
  }

  /// Tasks that prefer this executor download without changing threads.
  package var taskExecutor: any TaskExecutor { tasks }

  /// The executor for actors that a download enters without changing threads. They must never block.
  package var serialExecutor: any SerialExecutor { loop }

  /// The version of libcurl at run time, such as "7.88.1".
  package static var libcurlVersion: String { String(cString: dlm_curl_version()) }

  private static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return max(8, Int(clamping: limit.rlim_cur))
  }

  /// Initialised once in a process, before any other call (curl_global_init(3)).
  static let libraryCode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// Identifies one transfer of a loop, so that a late cancellation cannot hit the next transfer of the same handle.
struct TransferID: Hashable { let number: UInt64 }
