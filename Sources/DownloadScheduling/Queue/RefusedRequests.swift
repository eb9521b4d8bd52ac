import DownloadModel

/// Records of requests that were refused, unanswered or failed and will be sent again, until they end.
struct RefusedRequests {
  struct Record {
    var count = 0
    /// How long it was unanswered before it was requeued; `nil` if it was not.
    var waited: Duration?
    /// Its host was given up with this error: the request fails without being sent.
    var failure: DownloadError?
    /// `nil` if it never waited for a retry.
    var file: BackoffEntry?
  }

  private var records: [Int: Record] = [:]
  /// Requests that wait: refused more than once while their hosts served others, or failed (with a count of 0).
  private(set) var resting: [(until: Duration, request: DownloadRequest, count: Int)] = []
  private var failures: [String: DownloadError] = [:]
  /// False until a request first needs special treatment; lets the common path skip the lookup.
  private(set) var hasAdvice = false

  func advice(on request: DownloadRequest) -> Record { records[request.id] ?? Record() }

  mutating func forget(_ id: Int) { if !records.isEmpty { records[id] = nil } }

  /// Counts one more refusal; if the request is sent again, `keep` must follow.
  mutating func count(_ request: DownloadRequest) -> Record {
    var record = records.removeValue(forKey: request.id) ?? Record()
    record.count += 1
    return record
  }

  mutating func keep(_ record: Record, of request: DownloadRequest, until time: Duration?) {
    records[request.id] = record
    if let time { resting.append((time, request, record.count)) }
  }

  mutating func rest(_ file: BackoffEntry, until time: Duration) {
    goOn(with: file)
    if file.attempts.hasProgressed { note(file.request) { $0.count = 0 } }
    resting.append((time, file.request, 0))
  }

  mutating func goOn(with file: BackoffEntry) { note(file.request) { $0.file = file } }

  /// Files that waited for a retry at least once and have not ended.
  var unfinished: [BackoffEntry] { records.values.compactMap(\.file) }

  /// Records how a request is to be sent next time.
  mutating func note(_ request: DownloadRequest, _ advice: (inout Record) -> Void) {
    advice(&records[request.id, default: Record()])
    hasAdvice = true
  }

  mutating func giveUp(_ host: String, because error: DownloadError) { failures[host] = error }

  mutating func failFast(_ request: DownloadRequest, of host: String) {
    let failure = failures[host]
    note(request) { $0.failure = failure }
  }

  /// Removes and returns the requests whose wait is over.
  mutating func takeRested(at now: Duration) -> [(until: Duration, request: DownloadRequest, count: Int)] {
    defer { resting.removeAll { $0.until <= now } }
    return resting.filter { $0.until <= now }
  }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    defer { resting.removeAll { ids.contains($0.request.id) } }
    return resting.map(\.request).filter { ids.contains($0.id) }
  }
}
