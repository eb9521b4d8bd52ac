import DownloadModel

/// A file that dlm wrote, as it was when it was finished. The index never holds bodies.
///
/// A value like any other, but kept behind a reference and copied when changed: it is large, and each place that it
/// has in an async function would otherwise be allocated for each file, whether there is a row or not.
@dynamicMemberLookup
struct CacheRow: Sendable {
  struct Fields: Sendable, Equatable {
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
    /// `EffectiveURL` of the resource that answered, where redirects led to another one.
    var answeredBy: String?
    /// What the fields that `Vary` names were in the request (`DownloadCache.selection`); nil for nothing.
    var selection: String?
    /// `algorithm:hex`, once something has proved it.
    var digest: String?
  }

  private final class Box: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
  }

  private var box: Box

  init(
    key: RowKey, name: String, wanted: String, identity: FileIdentity, validator: Validator, fetchedAt: Int64,
    freshness: FreshnessFields, answeredBy: String? = nil, selection: String? = nil, digest: String? = nil
  ) {
    box = Box(
      Fields(
        key: key, name: name, wanted: wanted, identity: identity, validator: validator, fetchedAt: fetchedAt,
        freshness: freshness, answeredBy: answeredBy, selection: selection, digest: digest))
  }

  subscript<Value>(dynamicMember field: WritableKeyPath<Fields, Value>) -> Value {
    get { box.fields[keyPath: field] }
    set {
      var fields = box.fields
      fields[keyPath: field] = newValue
      box = Box(fields)
    }
  }

  var path: String { self.key.directory == "/" ? "/" + self.name : self.key.directory + "/" + self.name }

  /// Whether the file stands there as it was written.
  var isIntact: Bool { FileIdentity.of(path: path) == self.identity }
}

extension CacheRow: Equatable {
  static func == (left: CacheRow, right: CacheRow) -> Bool {
    left.box === right.box || left.box.fields == right.box.fields
  }
}
