import DownloadModel

/// A file that dlm wrote, as it was when it was finished. The index never holds bodies.
struct CacheRow: Sendable, Equatable {
  var key: RowKey
  /// File name in `key.directory`.
  var name: String
  /// The name before a conflict changed it.
  var wanted: String
  var identity: FileIdentity
  /// Empty where the answer may not be reused (`no-store`), or where nothing proved that the body was whole.
  var validator: Validator
  /// Seconds since 1970 at which the server last vouched for it.
  var fetchedAt: Int64
  var freshness: FreshnessFields
  /// The address that answered after redirects, without credentials and query (a query may be a signature).
  var answeredBy: String?
  /// `algorithm:hex`, once something has proved it.
  var digest: String?

  var path: String { key.directory == "/" ? "/" + name : key.directory + "/" + name }

  /// Whether the file stands there as it was written.
  var isIntact: Bool { FileIdentity.of(path: path) == identity }
}
