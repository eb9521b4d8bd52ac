import DownloadModel
import FileReceiving
import Synchronization

/// Requests one size: by HEAD, or by a GET of one byte if HEAD was refused or unanswered.
final class SizeQuestion: DownloadTarget {
  private let state = Lock(State())

  private struct State {
    var request: DownloadRequest?
    var asked = 0
    var isAnswered = false
    var size: Int64?
  }

  /// `nil` if the server does not give it.
  var size: Int64? { state.withLock { $0.size } }

  func ask(_ request: DownloadRequest) { state.withLock { $0.request = request } }

  func nextTransfer() throws(DownloadError) -> TransferRequest? {
    state.withLock { state in
      guard !state.isAnswered, var transfer = state.request.map({ TransferRequest(for: $0) }) else { return nil }
      state.asked += 1
      if state.asked == 1 {
        transfer.isHead = true
      } else {
        transfer.rangeStart = 0
        transfer.rangeEnd = 1
      }
      return transfer
    }
  }

  func accept(_ head: ResponseHead) throws(DownloadError) -> BodyDisposition {
    try state.withLock { state throws(DownloadError) in
      let isHead = state.asked == 1
      if head.isWhole {
        let isFramed = head["transfer-encoding"] == nil && head.bodyCoding == .none
        state.size = head.status == 204 ? 0 : isFramed ? head.contentLength : nil
      } else if !isHead, [206, 416].contains(head.status) {
        state.size = head.contentRange?.completeLength
      } else {
        let failure = head.failure(now: WallClock.seconds())
        // Many URLs are signed only for GET.
        guard isHead, !failure.isTransient else { throw failure }
        return .drain
      }
      state.isAnswered = true
      return .drain
    }
  }

  func finish(_ receipt: TransferReceipt) throws(DownloadError) -> Bool { state.withLock { $0.isAnswered } }

  // It has no body.

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand { .enough }
  func takeRunning() -> RunningTransfer? { nil }
  var openSegments: [OpenSegment] { [] }
  func takeSegment(of id: Int, from offset: Int64) -> (id: Int, target: any SegmentTarget)? { nil }
  func ask(for size: RequestSize) {}
  func refuseSegments() {}
  func release(_ segment: Int) {}
}
