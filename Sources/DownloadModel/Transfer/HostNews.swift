/// What a transport tells about a request's host, beside the request's result. After all but `.answered`, the request
/// ends with an error that requeues it (`DownloadError.isRequeued`).
package enum HostNews: Sendable {
  /// The host answered, and may have said how many further requests it allows.
  case answered(RequestAllowance?)
  /// It left the request unanswered for that time, while it answered others or accepted their connections (HTTP rule
  /// 38).
  case unanswered(for: Duration, Remedy)
  /// Its rate has collapsed (HTTP rule 39).
  case collapsed(Remedy)

  package enum Remedy: Sendable, Equatable {
    /// From now on, the host gets only so many connections at a time, by loop.
    case limit(to: [Int])
    /// The request is retried on a loop that has another connection or address for it, if idle at once, else after that
    /// loop's next transfer.
    case retry(loop: Int, isIdle: Bool)
  }

  package var waited: Duration? { if case .unanswered(let time, _) = self { time } else { nil } }

  package var remedy: Remedy? {
    switch self {
    case .answered: nil
    case .unanswered(_, let remedy), .collapsed(let remedy): remedy
    }
  }
}
