import DownloadModel
import GRDB

/// A file that dlm wrote, as it was when it was finished. The index never holds bodies.
///
/// It has value semantics, but its fields are behind a reference and are copied on change: it is large, and
/// every async function that handles it would otherwise reserve that much for each file, with a row or
/// without.
@dynamicMemberLookup
struct CacheRow: Sendable {
  struct Fields: Sendable, Equatable {
    var key: RowKey
    /// File name in `key.directory`.
    var name: String
    /// The wanted name, before the list's number or a conflict changed it.
    var wanted: String
    var identity: FileIdentity
    /// Empty where the answer may not be reused (`no-store`), or where nothing proved that the body was
    /// whole.
    var validator: Validator
    /// Seconds since 1970 at which the server last vouched for it.
    var fetchedAt: Int64
    var freshness: FreshnessFields
    /// `EffectiveURL` of the resource that answered, where redirects led to another resource.
    var effectiveURL: String?
    /// A hash of what the request had in the fields that `Vary` names (`RequestFingerprint.selection`); nil
    /// for nothing.
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
    freshness: FreshnessFields, effectiveURL: String? = nil, selection: String? = nil, digest: String? = nil
  ) {
    box = Box(
      Fields(
        key: key, name: name, wanted: wanted, identity: identity, validator: validator, fetchedAt: fetchedAt,
        freshness: freshness, effectiveURL: effectiveURL, selection: selection, digest: digest))
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

  /// Whether the file is still there as it was written.
  var isIntact: Bool { FileIdentity.of(path: path) == self.identity }
}

extension CacheRow: Equatable {
  static func == (left: CacheRow, right: CacheRow) -> Bool {
    left.box === right.box || left.box.fields == right.box.fields
  }
}

/// The key of an index row: an address, as requested into one folder.
///
/// The path follows from the key and not the reverse: a file keeps its row when a conflict gives it another
/// name, and one address may have files in several folders and under several names that the user chose.
struct RowKey: Sendable, Hashable {
  /// Without credentials and fragment.
  var address: String
  /// See `RequestFingerprint.scope`.
  var scope: String
  /// Canonical path of the output folder.
  var directory: String
  /// The name that the user chose; empty if the server or the address gave it.
  var requested: String

  /// A hash that is the same in every process.
  var stableHash: UInt64 {
    var hash = Hash.of(address.utf8)
    for part in [scope, directory, requested] where !part.isEmpty { hash = (hash &* 31) ^ Hash.of(part.utf8) }
    return hash
  }
}

/// The fields of an answer that decide how long it is fresh (RFC 9111 §4.2), as sent.
struct FreshnessFields: Sendable, Equatable {
  var cacheControl: String?
  var expires: String?
  var age: String?
  var vary: String?

  init(cacheControl: String? = nil, expires: String? = nil, age: String? = nil, vary: String? = nil) {
    self.cacheControl = cacheControl
    self.expires = expires
    self.age = age
    self.vary = vary
  }

  init(_ head: ResponseHead) {
    self.init(
      cacheControl: head["cache-control"], expires: head["expires"], age: head["age"], vary: head["vary"])
  }

  var isEmpty: Bool { self == FreshnessFields() }

  /// Takes over the fields that a 304 renews; fields that it does not repeat stay (RFC 9111 §3.2).
  mutating func update(_ newer: FreshnessFields) {
    cacheControl = newer.cacheControl ?? cacheControl
    expires = newer.expires ?? expires
    age = newer.age ?? age
    vary = newer.vary ?? vary
  }

  /// RFC 9111 §5.2.2.5. A directive with an argument, or one that is repeated, forbids as well: the strictest
  /// reading.
  var forbidsStoring: Bool {
    guard let cacheControl else { return false }
    return cacheControl.split(separator: ",").contains { directive in
      let name = directive.prefix { $0 != "=" }
      return name.filter { !$0.isWhitespace }.lowercased() == "no-store"
    }
  }
}

/// The index's tables and statements. A change of the schema is a new migration; an old one is never edited.
enum CacheSchema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1 files") { database in
      // The address comes first in the key, so that its rows in all folders are neighbours.
      try database.execute(
        sql: """
          CREATE TABLE file (
            address TEXT NOT NULL, scope TEXT NOT NULL, directory TEXT NOT NULL, requested TEXT NOT NULL,
            name TEXT NOT NULL, wanted TEXT NOT NULL,
            device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
            etag TEXT, last_modified TEXT, date TEXT,
            fetched_at INTEGER NOT NULL, cache_control TEXT, expires TEXT, age TEXT, vary TEXT,
            answered_by TEXT, digest TEXT,
            PRIMARY KEY (address, scope, directory, requested)
          ) WITHOUT ROWID
          """)
    }
    migrator.registerMigration("2 selection") { database in
      try database.execute(
        sql: """
          ALTER TABLE file ADD COLUMN selection TEXT;
          -- One file that two addresses took for theirs: nobody knows any more whose it is.
          DELETE FROM file WHERE (directory, name) IN
            (SELECT directory, name FROM file GROUP BY directory, name HAVING COUNT(*) > 1);
          -- Without the query, one resource was taken for the other: it cannot be told which of them answered.
          UPDATE file SET etag = NULL, last_modified = NULL WHERE answered_by IS NOT NULL;
          """)
    }
    return migrator
  }

  static let columns = """
    address, scope, directory, requested, name, wanted, device, inode, size, modified, etag, last_modified, \
    date, fetched_at, cache_control, expires, age, vary, answered_by, digest, selection
    """

  static let insert =
    "INSERT OR REPLACE INTO file (\(columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

  /// The row of the folder and name in the key first, then the other rows, youngest first.
  static let lookup = """
    SELECT \(columns) FROM file WHERE address = ? AND scope = ?
    ORDER BY (directory = ? AND requested = ?) DESC, fetched_at DESC LIMIT 8
    """

  static let page = """
    SELECT \(columns) FROM file WHERE (address, scope, directory, requested) > (?, ?, ?, ?)
    ORDER BY address, scope, directory, requested LIMIT ?
    """

  static let ownership = """
    SELECT device, inode, size, modified, address, scope, requested FROM file WHERE directory = ?
    """

  static let delete =
    "DELETE FROM file WHERE address = ? AND scope = ? AND directory = ? AND requested = ?"
}

extension RowKey {
  var arguments: StatementArguments { [address, scope, directory, requested] }
}

extension CacheRow: FetchableRecord {
  /// - Throws: for a value of the wrong type, because a damaged row must not crash the program.
  init(row: Row) throws {
    func text(_ index: Int) throws -> String { try row.decode(String.self, atIndex: index) }
    func optional(_ index: Int) throws -> String? { try row.decode(String?.self, atIndex: index) }
    func number(_ index: Int) throws -> Int64 { try row.decode(Int64.self, atIndex: index) }
    self.init(
      key: RowKey(
        address: try text(0), scope: try text(1), directory: try text(2), requested: try text(3)),
      name: try text(4), wanted: try text(5),
      identity: FileIdentity(
        device: try number(6), inode: try number(7), size: try number(8), modified: try number(9)),
      validator: Validator(etag: try optional(10), lastModified: try optional(11), date: try optional(12)),
      fetchedAt: try number(13),
      freshness: FreshnessFields(
        cacheControl: try optional(14), expires: try optional(15), age: try optional(16),
        vary: try optional(17)),
      effectiveURL: try optional(18), selection: try optional(20), digest: try optional(19))
  }

  /// In the order of `CacheSchema.columns`.
  var arguments: StatementArguments {
    [
      self.key.address, self.key.scope, self.key.directory, self.key.requested, self.name, self.wanted,
      self.identity.device, self.identity.inode, self.identity.size, self.identity.modified,
      self.validator.etag, self.validator.lastModified, self.validator.date,
      self.fetchedAt, self.freshness.cacheControl, self.freshness.expires, self.freshness.age,
      self.freshness.vary,
      self.effectiveURL, self.digest, self.selection,
    ]
  }
}
