import DownloadModel

/// What is known of requests that their hosts refused or left unanswered, until they end.
struct RefusedRequests {
  struct Record {
    /// How often it was refused.
    var count = 0
    /// How long it was left unanswered before it was requeued; nil if it was not.
    var waited: Duration?
    /// Its host was given up for this: fail it without asking.
    var failure: DownloadError?
  }

  private var records: [Int: Record] = [:]
  /// Those that were refused more than once while their hosts served others: each waits for its time.
  private(set) var resting: [(until: Duration, request: DownloadRequest, count: Int)] = []
  /// Why hosts were given up.
  private var failures: [String: DownloadError] = [:]
  /// Whether there ever was a request that must be asked in any but the usual way.
  private(set) var hasAdvice = false

  /// How to ask a request that was given out.
  func advice(on request: DownloadRequest) -> Record { records[request.id] ?? Record() }

  /// A request ended.
  mutating func forget(_ id: Int) { if !records.isEmpty { records[id] = nil } }

  /// Counts one more refusal; if the request comes again, `keep` must follow.
  mutating func count(_ request: DownloadRequest) -> Record {
    var record = records.removeValue(forKey: request.id) ?? Record()
    record.count += 1
    return record
  }

  /// - Parameter time: until which it rests; nil if it need not.
  mutating func keep(_ record: Record, of request: DownloadRequest, until time: Duration?) {
    records[request.id] = record
    if let time { resting.append((time, request, record.count)) }
  }

  mutating func wasUnanswered(_ request: DownloadRequest, for time: Duration) {
    records[request.id, default: Record()].waited = time
    hasAdvice = true
  }

  mutating func giveUp(_ host: String, because error: DownloadError) { failures[host] = error }

  /// A request is given out only to fail as its host did.
  mutating func failFast(_ request: DownloadRequest, of host: String) {
    records[request.id, default: Record()].failure = failures[host]
    hasAdvice = true
  }

  /// - Returns: those that have rested long enough.
  mutating func takeRested(at now: Duration) -> [(until: Duration, request: DownloadRequest, count: Int)] {
    if resting.isEmpty { return [] }
    defer { resting.removeAll { $0.until <= now } }
    return resting.filter { $0.until <= now }
  }

  /// Takes out those that rest and are wanted no more.
  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    defer { resting.removeAll { ids.contains($0.request.id) } }
    return resting.map(\.request).filter { ids.contains($0.id) }
  }
}
