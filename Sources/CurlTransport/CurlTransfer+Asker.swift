import CCurl
import DownloadModel

extension CurlTransfer {
  /// Unsafe in name: `CurlAgent.letGo`, the only place that resumes a stored one, takes it out in the same step. The
  /// checked kind would cost an allocation a file.
  typealias Continuation = UnsafeContinuation<Result<TransferStage, DownloadError>, Never>

  /// Who waits for the transfer.
  struct Asker {
    let id: TransferID
    var waits: Waits

    enum Waits {
      /// For its end.
      case untilEnd(Continuation)
      /// For the head, if the sink calls its body splittable.
      case untilHead(Continuation)
      /// Was told of the head.
      case further(RunningTransfer)

      /// Once, whatever it is.
      func end(_ result: Result<TransferReceipt, DownloadError>) {
        switch self {
        case .untilEnd(let continuation), .untilHead(let continuation):
          continuation.resume(returning: result.map { .ended($0) })
        case .further(let running): running.end(result)
        }
      }
    }
  }

  /// The asker goes on while the body arrives; it is resumed by a job, so not inside this callback.
  func tellOfHead(_ head: ResponseHead) {
    guard let asker, case .untilHead(let continuation) = asker.waits else { return }
    let running = RunningTransfer(
      answeredBy: head.answeredBy,
      delay: .microseconds((current?.hopTime ?? 0) + easy.offset(CURLINFO_STARTTRANSFER_TIME_T)),
      cancel: cancelOnLoop(asker.id))
    self.asker?.waits = .further(running)
    continuation.resume(returning: .success(.underWay(running)))
  }
}
