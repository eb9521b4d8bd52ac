import DownloadModel

/// Records of requests that were refused, unanswered or failed and will be sent again, until they end.
struct RefusedRequests {
  struct Record {
    var count = 0
    /// Why its transport requeued it; `nil` if it did not.
    var news: HostNews?
    /// Its host was given up with this error: the request fails without being sent.
    var failure: DownloadError?
    /// `nil` if it never waited for a retry.
    var file: BackoffEntry?
  }

  typealias Resting = (until: Duration, request: DownloadRequest, count: Int)

  private var records: [Int: Record] = [:]
  /// Requests that wait: refused more than once while their hosts served others, or failed (with a count of 0).
  var resting: [Resting] = []
  /// False until a request first needs special treatment; lets the common path skip the lookup.
  private(set) var hasAdvice = false

  func advice(on request: DownloadRequest) -> Record { records[request.id] ?? Record() }

  mutating func forget(_ id: Int) { if !records.isEmpty { records[id] = nil } }

  /// Files that waited for a retry at least once and have not ended.
  var unfinished: [BackoffEntry] { records.values.compactMap(\.file) }

  /// Records how a request is to be sent next time.
  mutating func note(_ id: Int, _ advice: (inout Record) -> Void) {
    advice(&records[id, default: Record()])
    hasAdvice = true
  }

  /// Removes and returns the requests whose wait is over.
  mutating func takeRested(at now: Duration) -> [Resting] {
    defer { resting.removeAll { $0.until <= now } }
    return resting.filter { $0.until <= now }
  }

  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    defer { resting.removeAll { ids.contains($0.request.id) } }
    return resting.map(\.request).filter { ids.contains($0.id) }
  }
}
