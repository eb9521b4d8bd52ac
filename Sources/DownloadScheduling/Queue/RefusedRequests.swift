import DownloadModel

/// What is known of requests that their hosts refused or left unanswered, until they end.
struct RefusedRequests {
  /// How to ask a request that was given out.
  enum Advice {
    /// - Parameter waited: how long it was left unanswered before; nil if it was not.
    case ask(waited: Duration?)
    /// Fail it without asking: its host was given up.
    case fail(DownloadError)
  }

  /// How often each was refused.
  private var counts: [Int: Int] = [:]
  /// Those that were refused more than once while their hosts served others: each waits for its time.
  private(set) var resting: [(until: Duration, request: DownloadRequest, count: Int)] = []
  /// For each that is requeued because it was left unanswered, how long it was.
  private var unanswered: [Int: Duration] = [:]
  /// Why hosts were given up.
  private var failures: [String: DownloadError] = [:]
  /// The failures of requests that were given out to fail fast.
  private var verdicts: [Int: DownloadError] = [:]

  /// Whether some request may have any but the usual advice: to be asked, and nothing else.
  var hasAdvice: Bool { !verdicts.isEmpty || !unanswered.isEmpty }

  /// Must be called once for each request that was given out, before it is asked, unless there was no advice yet when
  /// it was.
  mutating func advice(on request: DownloadRequest) -> Advice {
    if !verdicts.isEmpty, let error = verdicts.removeValue(forKey: request.id) { return .fail(error) }
    return .ask(waited: unanswered.isEmpty ? nil : unanswered[request.id])
  }

  /// A request ended.
  mutating func forget(_ id: Int) {
    if !counts.isEmpty { counts[id] = nil }
    if !unanswered.isEmpty { unanswered[id] = nil }
  }

  /// Counts one more refusal; if the request comes again, `keep` must follow.
  mutating func count(_ request: DownloadRequest) -> Int {
    (counts.removeValue(forKey: request.id) ?? 0) + 1
  }

  /// - Parameter time: until which it rests; nil if it need not.
  mutating func keep(_ count: Int, of request: DownloadRequest, until time: Duration? = nil) {
    counts[request.id] = count
    if let time { resting.append((time, request, count)) }
  }

  mutating func wasUnanswered(_ request: DownloadRequest, for time: Duration) { unanswered[request.id] = time }

  mutating func giveUp(_ host: String, because error: DownloadError) { failures[host] = error }

  /// A request is given out only to fail as its host did.
  mutating func failFast(_ request: DownloadRequest, of host: String) { verdicts[request.id] = failures[host] }

  /// - Returns: those that have rested long enough.
  mutating func takeRested(at now: Duration) -> [(request: DownloadRequest, count: Int)] {
    if resting.isEmpty { return [] }
    defer { resting.removeAll { $0.until <= now } }
    return resting.filter { $0.until <= now }.map { ($0.request, $0.count) }
  }

  /// Takes out those that rest and are wanted no more.
  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    defer { resting.removeAll { ids.contains($0.request.id) } }
    return resting.map(\.request).filter { ids.contains($0.id) }
  }
}
