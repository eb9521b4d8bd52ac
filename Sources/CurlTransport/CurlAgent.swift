import CCurl
import DownloadModel

/// Names one transfer of a loop, so that a cancellation that comes late cannot hit the next one.
struct TransferID: Hashable, Sendable { let number: UInt64 }

/// Owns the easy handles of one loop and is isolated on it: libcurl's callbacks and the tasks that download
/// enter it without a lock and without changing threads.
actor CurlAgent {
  nonisolated let loop: CurlLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private let settings: TransferSettings
  private var idle: [CurlTransfer] = []
  private var running: [UInt: Running] = [:]  // by the easy handle's address
  private var handles: [TransferID: UInt] = [:]
  private var nextNumber: UInt64 = 0
  private var isClosed = false

  /// Unsafe in name: what checks it is that `letGo`, the only place that resumes one that was stored, takes it out of
  /// `running` in the same step. The checked kind would cost an allocation a file.
  private typealias Continuation = UnsafeContinuation<Result<TransferReceipt, DownloadError>, Never>

  private struct Running {
    let id: TransferID
    let transfer: CurlTransfer
    let continuation: Continuation
  }

  init(_ loop: CurlLoop, _ options: TransportOptions) throws(CurlFailure) {
    self.loop = loop
    settings = try TransferSettings(options)
  }

  func fetch(_ request: TransferRequest, into sink: any BodySink) async throws(DownloadError)
    -> TransferReceipt
  {
    let id = TransferID(number: nextNumber)
    nextNumber += 1
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { (continuation: Continuation) in
        // Cancelled before it began: `onCancel` has run, found nothing, and will not run again. Cancelled from
        // here on: `onCancel` posts the id, which the loop reads only after this job has registered it.
        if Task.isCancelled {
          continuation.resume(returning: .failure(DownloadError.cancelled.at(request.address)))
        } else {
          start(id, request, sink, continuation)
        }
      }
    } onCancel: {
      loop.cancel(id)
    }
    return try result.get()
  }

  private func start(
    _ id: TransferID, _ request: TransferRequest, _ sink: any BodySink,
    _ continuation: Continuation
  ) {
    do {
      if isClosed { throw DownloadError.cancelled.at(request.address) }
      let transfer = try takeIdle()
      try transfer.prepare(request, into: sink, settings)
      try loop.add(transfer.easy)
      let handle = UInt(bitPattern: transfer.easy.pointer)
      running[handle] = Running(id: id, transfer: transfer, continuation: continuation)
      handles[id] = handle
    } catch {
      continuation.resume(returning: .failure(Self.failure(error, request.address)))
    }
  }

  private func takeIdle() throws(CurlFailure) -> CurlTransfer {
    if let transfer = idle.popLast() { return transfer }
    return try CurlTransfer(settings, closeContext: Unmanaged.passUnretained(loop).toOpaque())
  }

  private static func failure(_ error: any Error, _ address: Address) -> DownloadError {
    if let error = error as? DownloadError { return error }
    let cause: DownloadError.Cause =
      switch error {
      case let error as CurlFailure: .curl(code: Int32(error.code.rawValue), message: error.message)
      case let error as MultiFailure: .detail(error.message)
      default: .detail("\(error)")
      }
    return DownloadError(.transport, cause: cause, address: address.key, activity: "starting the transfer")
  }

  /// libcurl reports an easy handle as done.
  func finish(_ handle: UInt, _ code: CURLcode) {
    guard let ended = running[handle] else { return }
    let result = ended.transfer.finish(code)
    letGo(handle, with: result)
  }

  func cancel(_ ids: [TransferID]) {
    for id in ids {
      // None: it ended while the cancellation was on its way.
      if let handle = handles[id] { abort(handle, .cancelled) }
    }
  }

  /// The loop itself is broken (out of memory, out of descriptors): nobody is left waiting.
  func failAll(_ message: String) {
    for handle in Array(running.keys) {
      abort(
        handle,
        DownloadError(
          .transport, cause: .detail(message), activity: "waiting for the network", isPassing: true))
    }
  }

  /// Ends everything; transfers that come later are refused.
  func close() {
    isClosed = true
    for handle in Array(running.keys) { abort(handle, .cancelled) }
    idle = []
  }

  private func abort(_ handle: UInt, _ error: DownloadError) {
    guard let ended = running[handle] else { return }
    let result = ended.transfer.abort(error)
    letGo(handle, with: result)
  }

  /// The easy handle leaves the multi handle first; then whoever waits goes on.
  private func letGo(_ handle: UInt, with result: Result<TransferReceipt, DownloadError>) {
    guard let ended = running.removeValue(forKey: handle) else { return }
    handles[ended.id] = nil
    do throws(MultiFailure) {
      try loop.remove(ended.transfer.easy)
      idle.append(ended.transfer)
    } catch {
      // libcurl knows no such handle: it is not used again, and its result stands.
      assertionFailure("curl_multi_remove_handle: \(error.message)")
    }
    ended.continuation.resume(returning: result)
  }
}
