package import DownloadModel

/// Files at addresses, served as a well-behaved server does: ranges, If-Range, conditional requests.
///
/// Its answers come at once, on the thread that fetches: nothing here suspends. `FakeTransport` is what a
/// scheduler fetches through.
package final class FakeServer: Sendable {
  private struct File {
    var body: [UInt8]
    var etag: String?
    var disposition: String?
  }

  private struct State {
    var files: [String: File] = [:]
    var requests: [TransferRequest] = []
    var cuts: [Int] = []
  }

  private let monitor = Monitor(State())

  package init() {}

  package func put(_ address: String, _ body: [UInt8], etag: String? = "\"v1\"", disposition: String? = nil) {
    monitor.withState { $0.files[address] = File(body: body, etag: etag, disposition: disposition) }
  }

  package func remove(_ address: String) { monitor.withState { $0.files[address] = nil } }

  /// The next answer with a body breaks off after so many bytes.
  package func cutNext(after count: Int) { monitor.withState { $0.cuts.append(count) } }

  /// Every request so far, in order.
  package var requests: [TransferRequest] { monitor.withState { $0.requests } }

  /// One attempt, as a scheduler's fetch makes it.
  package func fetch(_ target: any SegmentTarget) throws(DownloadError) -> TransferReceipt {
    guard let request = try target.nextTransfer() else { throw .nothingToAsk }
    let (answer, cut) = monitor.withState { state -> (FakeAnswer, Int?) in
      state.requests.append(request)
      let answer =
        state.files[request.address.key].map {
          FakeAnswer.file($0.body, etag: $0.etag, disposition: $0.disposition, to: request)
        } ?? FakeAnswer(404)
      let cut = answer.body.isEmpty || state.cuts.isEmpty ? nil : state.cuts.removeFirst()
      return (answer, cut)
    }
    guard let cut else { return try answer.deliver(to: target) }
    _ = try answer.cut(after: cut).deliver(to: target)
    throw .lost
  }
}
