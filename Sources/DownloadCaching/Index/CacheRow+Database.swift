import DownloadModel
import GRDB

extension RowKey {
  var arguments: StatementArguments { [address, scope, directory, requested] }
}

extension CacheRow: FetchableRecord {
  /// - Throws: for a value of the wrong type: a damaged row must not be a crash.
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
      answeredBy: try optional(18), selection: try optional(20), digest: try optional(19))
  }

  /// In the order of `CacheSchema.columns`.
  var arguments: StatementArguments {
    [
      self.key.address, self.key.scope, self.key.directory, self.key.requested, self.name, self.wanted,
      self.identity.device, self.identity.inode, self.identity.size, self.identity.modified,
      self.validator.etag, self.validator.lastModified, self.validator.date,
      self.fetchedAt, self.freshness.cacheControl, self.freshness.expires, self.freshness.age,
      self.freshness.vary,
      self.answeredBy, self.digest, self.selection,
    ]
  }
}
