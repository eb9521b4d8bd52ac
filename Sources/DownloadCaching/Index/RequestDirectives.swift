import DownloadModel

/// The directives about stored answers in the user's header lines (RFC 9111 §5.2.1).
struct RequestDirectives: Equatable {
  /// Seconds; an older answer is revalidated. `nil` for any age.
  var maxAge: Int64?
  /// Seconds for which an answer must still be fresh.
  var minFresh: Int64 = 0
  /// Seconds for which an answer may be stale.
  var maxStale: Int64 = 0
  /// Seconds for which it may be stale if the server fails (RFC 5861 §4).
  var staleIfError: Int64 = 0
  /// `no-cache`: no answer is used without a request.
  var asksAlways = false
  /// `only-if-cached`: no request is sent.
  var onlyIfCached = false
  /// `no-store`: nothing of the request may be stored.
  var forbidsStoring = false

  /// Both are the values of all such lines, joined with commas. Pragma counts only without Cache-Control (§5.4).
  init(cacheControl: String? = nil, pragma: String? = nil) {
    // Most users give neither.
    if cacheControl == nil, pragma == nil { return }
    let control = CacheControl(cacheControl)
    maxAge = control.seconds("max-age", strictest: 0)
    minFresh = control.seconds("min-fresh", strictest: .max) ?? 0
    maxStale = control.seconds("max-stale", strictest: 0, bare: .max) ?? 0
    staleIfError = control.seconds("stale-if-error", strictest: 0) ?? 0
    asksAlways = control.restricts("no-cache")
    forbidsStoring = control.restricts("no-store")
    onlyIfCached = control.permits("only-if-cached")
    if control.isEmpty, let pragma { asksAlways = CacheControl(pragma).restricts("no-cache") }
  }

  /// The stricter restrictions of both, and the longest permitted times.
  func combined(_ other: RequestDirectives) -> RequestDirectives {
    var both = self
    both.maxAge = [maxAge, other.maxAge].compactMap(\.self).min()
    both.minFresh = max(minFresh, other.minFresh)
    both.maxStale = max(maxStale, other.maxStale)
    both.staleIfError = max(staleIfError, other.staleIfError)
    both.asksAlways = asksAlways || other.asksAlways
    both.onlyIfCached = onlyIfCached || other.onlyIfCached
    both.forbidsStoring = forbidsStoring || other.forbidsStoring
    return both
  }
}
