/// The wait of a request for the first answer of a connection that was opened for it, or for that connection itself,
/// which a server may leave unaccepted (HTTP rule 38).
struct AnswerWait {
  /// How long the request was unanswered before it was requeued (`TransferRequest.waited`); `nil` for its first
  /// attempt.
  let before: UInt64?
  /// The same while it is retried on an open connection; else `nil`.
  private(set) var trial: UInt64?
  /// The socket of the connection that was opened for it; `nil` while it has none, or if it reused one.
  private(set) var socket: Int32?
  /// Without the time in which there were bytes to read; zero without a connection of its own.
  var time: UInt64 = 0

  /// - Parameter isTrial: false for a request after an answer, which has ended the trial.
  init(after waited: Duration? = nil, isTrial: Bool = true) {
    before = waited?.nanoseconds
    trial = isTrial ? before : nil
  }

  /// Each wait must be longer than the last one.
  var mayReturn: Bool { time / 2 >= before ?? 0 }
  /// After a second the kernel retries by itself, and CURLOPT_CONNECTTIMEOUT_MS starts anew with each connection.
  var mayConnectAgain: Bool { before ?? 0 < 500_000_000 }

  /// Called for each connection that is tried; the last one counts.
  /// - Returns: whether that ends a trial: a new connection gives no result.
  mutating func didOpen(_ socket: Int32) -> Bool {
    defer { trial = nil }
    self.socket = socket
    return trial != nil
  }
}
