import DownloadModel

/// How long a request has waited for the first answer of a connection that was opened for it, or for that connection
/// itself, which a server may leave unaccepted (HTTP rule 38).
struct AnswerWait {
  /// How long the request was unanswered before it was returned (`TransferRequest.waited`); nil for the first time.
  let before: UInt64?
  /// Whether it was returned unanswered and is asked again on an open connection.
  private(set) var isTrial: Bool
  /// The socket of the connection that was opened for it; nil while it has none, or if it reused one.
  private(set) var socket: Int32?
  /// Without that in which there was something to read; zero without a connection of its own.
  var time: UInt64 = 0

  /// - Parameter isTrial: false for a request that follows an answer, which has ended the trial.
  init(after waited: Duration? = nil, isTrial: Bool = true) {
    before = waited.map { UInt64($0 / .nanoseconds(1)) }
    self.isTrial = isTrial && waited ?? .zero > .zero
  }

  /// It must wait longer each time.
  var mayReturn: Bool { time / 2 >= before ?? 0 }
  /// After a second the kernel tries again by itself, and CURLOPT_CONNECTTIMEOUT_MS begins anew with each connection.
  var mayConnectAgain: Bool { before ?? 0 < 500_000_000 }

  /// For each connection that is tried; the last one counts.
  /// - Returns: whether a trial ends with that: nothing is learnt from a new connection.
  mutating func didOpen(_ socket: Int32) -> Bool {
    defer { isTrial = false }
    self.socket = socket
    return isTrial
  }
}
