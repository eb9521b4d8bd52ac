import DownloadModel
import FileReceiving

/// How long a stored answer may be used without a request (RFC 9111 §4.2), by its header fields. An answer after
/// redirects is never fresh: its lifetime does not tell how long the redirect holds.
struct Freshness: Equatable {
  /// Seconds for which the answer is fresh, from when its origin made it; 0 if unknown.
  let lifetime: Int64
  /// Seconds since its origin made it, at least (§4.2.3).
  let age: Int64
  /// `no-cache`: it is never used without a request (§5.2.2.4).
  let asksAlways: Bool
  /// `must-revalidate`: it is never used while stale (§5.2.2.2).
  let mustRevalidate: Bool
  /// Seconds for which it may be stale if the server fails (RFC 5861 §3).
  let staleIfError: Int64
  let isGuessed: Bool

  /// A week, as in browsers.
  static let longestGuess: Int64 = 7 * 86_400

  /// Statuses for which a lifetime may be guessed (RFC 9110 §15.1, RFC 9111 §4.2.2).
  private static let guessable: Set<Int> = [200, 203, 204, 206]

  init(of row: CacheRow, at now: Int64, guesses: Bool) {
    let control = CacheControl(row.freshness.cacheControl)
    asksAlways = control.restricts("no-cache")
    mustRevalidate = control.restricts("must-revalidate")
    staleIfError = control.seconds("stale-if-error", strictest: 0) ?? 0
    let date = row.validator.date.flatMap(HTTPDate.init)?.seconds ?? row.fetchedAt
    age = Self.age(row.freshness.age, date: date, askedAt: row.fetchedAt, at: now)
    let named = row.effectiveURL != nil ? 0 : Self.named(control, row.freshness.expires, date: date)
    isGuessed = named == nil && (guesses || control.permits("immutable"))
    lifetime = named ?? (isGuessed ? Self.guessed(row.validator, row.status, date: date) : 0)
  }

  /// §4.2.3. If the clock was set back since, the age is unknown and counts as infinite.
  private static func age(_ field: String?, date: Int64, askedAt: Int64, at now: Int64) -> Int64 {
    guard now >= askedAt else { return .max }
    return max(now - date, (field.flatMap { received($0) } ?? 0) + now - askedAt)
  }

  /// §5.1: of several ages the first counts; an invalid age is ignored.
  private static func received(_ field: String) -> Int64? {
    let first = field.utf8.prefix { $0 != .comma }.filter { $0 != 0x20 && $0 != 0x09 }
    return DeltaSeconds.read(first)
  }

  /// §4.2.1, for a private cache: `s-maxage` does not apply. An invalid date is in the past (§5.3).
  private static func named(_ control: CacheControl, _ expires: String?, date: Int64) -> Int64? {
    if let maxAge = control.seconds("max-age", strictest: 0) { return maxAge }
    return expires.map { max(0, (HTTPDate($0)?.seconds ?? date) - date) }
  }

  /// §4.2.2: a tenth of the time between the last change and the answer.
  private static func guessed(_ validator: Validator, _ status: Int?, date: Int64) -> Int64 {
    guard guessable.contains(status ?? 200), let changed = validator.changed else { return 0 }
    return min(longestGuess, max(0, date - changed) / 10)
  }

  // MARK: Use

  var isFresh: Bool { lifetime > age && !asksAlways }

  /// When the answer becomes stale by its header fields, in seconds since 1970; `nil` if the server is always asked.
  static func end(of row: CacheRow, at now: Int64) -> Int64? {
    let freshness = Freshness(of: row, at: now, guesses: false)
    guard !freshness.asksAlways, freshness.lifetime > 0, freshness.age != .max else { return nil }
    return now - freshness.staleness
  }

  private var staleness: Int64 { age == .max ? .max : age - lifetime }

  /// How the answer may be used without a request (§4, §5.2.1); `nil` if its server must be asked.
  func use(for request: RequestDirectives) -> CacheLookup.Basis? {
    guard !asksAlways, !request.asksAlways, age <= request.maxAge ?? .max else { return nil }
    if lifetime > age { return lifetime - age >= request.minFresh ? .fresh : nil }
    guard !mustRevalidate, request.minFresh == 0, request.maxStale > 0, age != .max, staleness <= request.maxStale
    else { return nil }
    return .stale
  }

  /// Whether a stale answer may replace this failure (RFC 5861 §3): a temporary 5xx status, or a network failure that a
  /// cache on the way would have reported as one. A rejected certificate is not such a failure.
  static func isServerFailure(_ error: DownloadError) -> Bool {
    switch (error.code, error.cause) {
    case (.status, .http(let status)): status >= 500 && HTTPStatus.isTransient(status)
    case (.resolve, _), (.connect, _), (.timeout, _), (.stalled, _), (.reset, _), (.unanswered, _),
      (.shortBody, _):
      true
    default: false
    }
  }

  /// Whether it may be used because its server could not be asked (RFC 9111 §4.2.4, RFC 5861).
  func mayStandIn(for request: RequestDirectives) -> Bool {
    guard !asksAlways, !request.asksAlways, !mustRevalidate, age != .max else { return false }
    let allowed = max(staleIfError, request.staleIfError)
    return staleness <= allowed && (allowed > 0 || isFresh)
  }
}
