import DownloadModel

/// When a transfer has stalled: no byte came for a certain time. libcurl's own check (CURLOPT_LOW_SPEED_TIME) counts
/// whole seconds, judges an average, and sets a timer for each transfer.
struct StallWatch {
  /// After how many nanoseconds without a byte a transfer has stalled.
  let limit: UInt64
  /// Nanoseconds between two checks: a stall is found at most two checks late.
  let interval: UInt64

  init(_ timeout: Duration) {
    limit = UInt64(max(1, timeout.milliseconds)) * 1_000_000
    interval = min(max(limit / 8, 10_000_000), 1_000_000_000)
  }

  /// How much of the time between two checks counts: if the loop was held up, bytes may be waiting.
  func counted(_ elapsed: UInt64) -> UInt64 { min(elapsed, interval * 2) }

  struct Quiet {
    private var bytes: Int64?
    private var time: UInt64 = 0
    /// How many bytes came between the last two looks; nil before the second.
    private(set) var gain: Int64?

    /// - Returns: nanoseconds without a byte, as far as known: zero at the first check.
    mutating func look(_ bytes: Int64, after time: UInt64) -> UInt64 {
      self.time = bytes == self.bytes ? self.time + time : 0
      gain = self.bytes.map { bytes - $0 }
      self.bytes = bytes
      return self.time
    }
  }

  var failure: DownloadError {
    let milliseconds = limit / 1_000_000
    let time = milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    return DownloadError(.stalled, cause: .detail("no bytes for \(time)"), activity: "receiving", isTransient: true)
  }
}

/// How fast a file comes, over all its segments, as one of its transfers sees it. Only time counts in which its body
/// could come: none before the answer, none in which the run is paused or holds to a rate of its own.
struct Pace {
  private var start: Int64?
  private var time: UInt64 = 0

  /// - Parameters:
  ///   - bytes: those of the file by now; fewer than before where it starts over.
  ///   - time: nanoseconds since the last look, as far as they count.
  /// - Returns: nil unless a window is over in which fewer bytes a second came than must.
  mutating func look(_ bytes: Int64, after time: UInt64, least: Int64, over window: Duration) -> DownloadError? {
    guard let start, bytes >= start else {
      self.start = bytes
      self.time = 0
      return nil
    }
    self.time += time
    guard self.time >= UInt64(window.milliseconds) * 1_000_000 else { return nil }
    let rate = Int64(Double(bytes - start) / (Double(self.time) / 1e9))
    self.start = bytes
    self.time = 0
    if rate >= least { return nil }
    let detail = "\(Self.words(rate)) over \(window.components.seconds) s"
    return DownloadError(.tooSlow, cause: .detail(detail), activity: "receiving", isTransient: true)
  }

  static func words(_ rate: Int64) -> String {
    rate < 10_240 ? "\(rate) B/s" : rate < 10_240 << 10 ? "\(rate >> 10) KiB/s" : "\(rate >> 20) MiB/s"
  }
}

/// When a loop must act though nothing wakes it. Times are in nanoseconds, nil where there is nothing to do.
struct LoopTimers {
  let stallWatch: StallWatch
  var curl: UInt64?
  private var lastLook: UInt64?
  /// Of the first body that is drained, or wait to share a connection.
  private var deadline: UInt64?
  private var nextWatch: UInt64?
  /// Between two looks at requests without an answer.
  static let watchInterval: UInt64 = 10_000_000

  init(_ stallWatch: StallWatch) { self.stallWatch = stallWatch }

  mutating func lookForStalls(_ isOn: Bool, at now: @autoclosure () -> UInt64) {
    lastLook = isOn ? lastLook ?? now() : nil
  }

  mutating func watchUnanswered(_ isOn: Bool, at now: @autoclosure () -> UInt64) {
    nextWatch = isOn ? nextWatch ?? now() + Self.watchInterval : nil
  }

  /// At that time the loop ends drained bodies and waits to share that are overdue.
  mutating func look(at time: UInt64) { deadline = min(deadline ?? time, time) }

  /// - Returns: if it is time to look for stalled transfers, the time since the last look, as far as it counts.
  mutating func takeLook(at now: UInt64) -> UInt64? {
    guard let last = lastLook, now >= last + stallWatch.interval else { return nil }
    lastLook = now
    return stallWatch.counted(now - last)
  }

  mutating func takeDeadline(at now: UInt64) -> Bool {
    guard let deadline, deadline <= now else { return false }
    self.deadline = nil
    return true
  }

  /// - Returns: the same for requests without an answer: if the loop was held up, answers may be waiting.
  mutating func takeWatch(at now: UInt64) -> UInt64? {
    guard let time = nextWatch, time <= now else { return nil }
    nextWatch = now + Self.watchInterval
    return min(now - time, Self.watchInterval) + Self.watchInterval
  }

  mutating func wereHeld(for time: UInt64, until now: UInt64) {
    lastLook = lastLook.map { _ in now }
    deadline = deadline.map { $0 + time }
    nextWatch = nextWatch.map { $0 + time }
  }

  /// For how many milliseconds nothing is to do; -1 without limit.
  func wait(at now: UInt64) -> Int32 {
    let look = lastLook.map { $0 + stallWatch.interval }
    let next = min(curl ?? .max, look ?? .max, deadline ?? .max, nextWatch ?? .max)
    if next == .max { return -1 }
    return next <= now ? 0 : Int32(clamping: (next - now + 999_999) / 1_000_000)
  }
}

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

/// What one loop remembers of hosts while requests wait for the first answer of their connections.
struct UnansweredWatch {
  private(set) var isOn = false
  var isJudging = false
  private(set) var marks: [String: OvertakenRule.Mark] = [:]
  private var answers: [String: Int] = [:]
  private var firstAnswers: [String: (longest: UInt64, connect: UInt64)] = [:]
  /// For how many hosts a first answer is remembered, so that memory does not grow with their number.
  private static let mostHosts = 1024

  mutating func set(isOn: Bool, hosts: Set<String>) {
    self.isOn = isOn
    if !marks.isEmpty { marks = marks.filter { hosts.contains($0.key) } }
    if !isOn { answers = [:] }
  }

  mutating func count(_ host: String) { answers[host, default: 0] += 1 }

  /// A connection brought its first answer, after so many nanoseconds, of which it took some to come up.
  mutating func answered(_ host: String, after time: UInt64, connect: UInt64) {
    guard firstAnswers.count < Self.mostHosts || firstAnswers[host] != nil else { return }
    let known = firstAnswers[host] ?? (time, connect)
    firstAnswers[host] = (max(known.longest, time), min(known.connect, connect))
  }

  func facts(of host: String, busy: Int, idle: Int, taken: Int, all: Int) -> OvertakenRule.Facts {
    let first = firstAnswers[host]
    return OvertakenRule.Facts(
      busy: busy, idle: idle, answers: answers[host] ?? 0, firstAnswer: first?.longest ?? 0, taken: taken, all: all,
      connect: first?.connect)
  }

  mutating func see(_ host: String, _ facts: [OvertakenRule.Facts]) {
    // If another connection was answered, counting begins again.
    if marks[host]?.answering != facts.answering {
      marks[host] = OvertakenRule.Mark(answering: facts.answering, answers: facts.answers)
    }
    marks[host]?.wasIdle = facts.contains { $0.idle > 0 }
  }
}
