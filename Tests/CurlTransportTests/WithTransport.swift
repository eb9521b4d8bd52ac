import CurlTransport
import DownloadModel
import TestSupport

/// Runs a test body with a transport and an origin, and ends both however it ends.
func withTransport<Value: Sendable>(
  _ change: (inout TransportOptions) -> Void = { _ in },
  _ body: (CurlTransport, FaultyOrigin) async throws -> Value
) async throws -> Value {
  var options = TransportOptions(userAgent: "dlm-test")
  // So long that a machine that is busy with other tests stands for no stall; a test of stalls sets its own.
  options.connectTimeout = .seconds(120)
  options.stallTimeout = .seconds(600)
  change(&options)
  let origin = try FaultyOrigin()
  let transport = try CurlTransport(options)
  do {
    let value = try await body(transport, origin)
    await transport.shutdown()
    origin.stop()
    return value
  } catch {
    await transport.shutdown()
    origin.stop()
    throw error
  }
}

extension TransferRequest {
  init(address: Address, meter: TransferMeter?) {
    self.init(address: address)
    self.meter = meter
  }
}

extension CurlTransport {
  /// Fetches an address the way that dlm does: from an actor on the loop, in a task that prefers the loop's
  /// executor. What comes from outside (`Transport.fetch` itself) is tested in LoopTests, HandOnTests and
  /// RateLimitTests. As in the queue, a request that was left unanswered while others were answered is made again: the
  /// origin's thread for it may have had no time.
  func fetch(
    _ address: Address, from start: Int64? = nil, headers: [String] = [], into sink: CollectingSink = .init()
  ) async throws(DownloadError) -> (TransferReceipt, CollectingSink) {
    var request = TransferRequest(address: address, headerLines: headers)
    request.rangeStart = start
    let lane = Lane(self)
    while true {
      let result = await withTaskExecutorPreference(taskExecutor) { [request] in await lane.fetch(request, into: sink) }
      if case .failure(let error) = result, error.isRequeued { continue }
      return (try result.get(), sink)
    }
  }
}
