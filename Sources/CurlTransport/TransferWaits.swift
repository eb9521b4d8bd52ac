import DownloadModel

// How long to wait for a transfer, as values: time is in nanoseconds and an argument.

/// When a transfer has stalled: no byte came for a certain time.
///
/// libcurl's own check (CURLOPT_LOW_SPEED_TIME) counts whole seconds, judges an average of the last ones, which takes a
/// stall of two seconds for one of eight, and sets a timer for each transfer. Here all transfers of a loop are checked
/// from time to time, and a byte costs nothing but the count that is kept anyway.
struct StallWatch {
  /// After how many nanoseconds without a byte a transfer has stalled.
  let limit: UInt64
  /// Nanoseconds between two checks: a stall is found at most two checks late.
  let interval: UInt64

  init(_ timeout: Duration) {
    limit = UInt64(max(1, timeout.milliseconds)) * 1_000_000
    interval = min(max(limit / 8, 10_000_000), 1_000_000_000)
  }

  /// How much of the time between two checks counts: if the loop was held up (a slow disk, SIGSTOP), bytes may be
  /// waiting.
  func counted(_ elapsed: UInt64) -> UInt64 { min(elapsed, interval * 2) }

  /// How many bytes one transfer had brought at the last check, and for how long no more have come.
  struct Quiet {
    private var bytes: Int64?
    private var time: UInt64 = 0

    /// - Parameters:
    ///   - bytes: header and body bytes of the transfer so far.
    ///   - time: nanoseconds since the last check.
    /// - Returns: nanoseconds without a byte, as far as known: zero at the first check.
    mutating func look(_ bytes: Int64, after time: UInt64) -> UInt64 {
      self.time = bytes == self.bytes ? self.time + time : 0
      self.bytes = bytes
      return self.time
    }
  }

  var failure: DownloadError {
    let milliseconds = limit / 1_000_000
    let time = milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    return DownloadError(.stalled, cause: .detail("none in \(time)"), activity: "receiving", isTransient: true)
  }
}

/// A body that is not wanted but is read to its end, so that its connection can be kept.
struct Drain {
  /// A longer body costs more than a new connection.
  static let limit: Int64 = 64 * 1024
  /// A short body follows its head at once; if it does not, it is not waited for any longer (HTTP rule 33).
  static let time: UInt64 = 250_000_000

  /// When it ends, complete or not; nil where another answer follows, which is waited for like any other.
  let deadline: UInt64?
  private(set) var received: Int64 = 0

  init(until deadline: UInt64? = nil) { self.deadline = deadline }

  /// - Parameter length: of the body that comes; nil if the server did not give it.
  static func isWorthwhile(_ length: Int64?) -> Bool { length.map { $0 <= limit } ?? true }

  /// - Returns: whether the transfer goes on.
  mutating func take(_ count: Int) -> Bool {
    received += Int64(count)
    return received <= Self.limit
  }
}

/// How long a request has waited for the first answer of a connection that was opened for it, or for that connection
/// itself, which a server with too many connections may leave unaccepted (HTTP rule 38).
struct AnswerWait {
  /// How long the request was unanswered before it was returned (`TransferRequest.waited`); nil for the first time.
  let before: UInt64?
  /// Whether it was returned unanswered and is asked again on an open connection.
  private(set) var isTrial: Bool
  /// The socket of the connection that was opened for it; nil while it has none, or if it reused one.
  private(set) var socket: Int32?
  /// Zero without a connection of its own.
  private(set) var time: UInt64 = 0

  init(after waited: Duration? = nil) {
    before = waited.map { UInt64($0 / .nanoseconds(1)) }
    isTrial = waited != nil
  }

  /// Called for each connection that is tried, where a host has several addresses; the last one counts.
  /// - Returns: whether a trial ends with that, because nothing is learnt from a new connection.
  mutating func didOpen(_ socket: Int32) -> Bool {
    defer { isTrial = false }
    self.socket = socket
    return isTrial
  }

  /// Adds time in which the loop was reading what had come.
  mutating func pass(_ time: UInt64) { self.time += time }
}
