/// Everything that the index knows of one file (`dlm cache show`).
public struct CacheDetail: Sendable, Equatable {
  public var entry: CacheEntry
  /// Whether it was asked for with a login, header lines or a certificate, or from servers that were checked in a way
  /// of the user's: it answers only requests like that unasked.
  public var isKeyed: Bool
  /// Whether it is not a file of the user's but the cache's own, in its store.
  public var isStored: Bool
  /// The name that the user chose (`--output`); nil if the server or the address gave it.
  public var chosenName: String?
  /// Seconds since 1970 at which it last answered a request.
  public var usedAt: Int64
  /// Status of the answer that brought it; nil if that is not known.
  public var status: Int?
  /// Seconds since 1970 until which it is used without asking its server, passed or not; nil where the server is always
  /// asked.
  public var freshUntil: Int64?
  /// Fields of the answer that last vouched for it, as sent.
  public var cacheControl: String?
  public var expires: String?
  public var age: String?
  public var vary: String?
  /// The address that answered, where redirects led to another one.
  public var effectiveURL: String?
  /// Its checksum, where one was proved.
  public var digest: String?

  /// - Parameter now: seconds since 1970.
  init(_ row: CacheRow, at now: Int64) {
    entry = CacheEntry(row)
    isKeyed = row.trust != .usual
    isStored = row.key.isStored
    chosenName = row.key.requested.isEmpty || row.key.isStored ? nil : row.key.requested
    usedAt = row.usedAt
    status = row.status
    freshUntil = Freshness.end(of: row, at: now)
    cacheControl = row.freshness.cacheControl
    expires = row.freshness.expires
    age = row.freshness.age
    vary = row.freshness.vary
    effectiveURL = row.effectiveURL
    digest = row.checksum
  }
}
