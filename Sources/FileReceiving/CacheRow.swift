package import DownloadModel

/// A file that dlm wrote, in the state in which it finished.
///
/// The fields are behind a reference and are copied on change. They are large, and every async function that handles a
/// row would otherwise reserve that much memory per file.
package struct CacheRow: Equatable {
  package struct Fields: Equatable {
    package var key: RowKey
    package var name: String
    /// The name before the list's number or a conflict changed it.
    package var wanted: String
    package var identity: FileIdentity
    /// Empty if the answer may not be reused (`no-store`), or if nothing proved that the body was complete.
    package var validator: Validator
    /// Seconds since 1970 at which the last request was sent whose answer confirmed the file (RFC 9111 §4.2.3).
    package var fetchedAt: Int64
    /// Seconds since 1970 at which the file was last used for a request.
    package var usedAt: Int64
    /// Status of the answer that the bytes are from; `nil` if unknown.
    package var status: Int?
    package var freshness: FreshnessFields
    /// The mark under which the file was received or last confirmed.
    package var trust: TrustMark
    /// `EffectiveURL` of the resource that answered; `nil` without redirects.
    package var effectiveURL: String?
    /// `RequestFingerprint.selection`; `nil` if the answer depends on nothing else.
    package var selection: String?
    /// What proved the file: `algorithm:hex`, `nil` for its length, or the name of another `Proof`.
    package var digest: String?
    /// SHA-256 of a store entry that is also the user's file (`StoreKind.link`).
    package var sum: String?
  }

  private final class Box: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
  }

  private var box: Box
  /// Known only after the file has its name.
  package var changed: ChangeTime

  /// At most a pebibyte, and times up to the year 36812: a damaged row must not overflow a calculation.
  package static let sizes: ClosedRange<Int64> = 0...(1 << 50)
  private static func time(_ seconds: Int64) -> Int64 { min(max(seconds, 0), 1 << 40) }

  package init(
    key: RowKey, name: String, wanted: String, identity: FileIdentity, changed: ChangeTime,
    validator: Validator = Validator(), fetchedAt: Int64, usedAt: Int64? = nil, status: Int? = nil,
    freshness: FreshnessFields = FreshnessFields(), effectiveURL: String? = nil, trust: TrustMark = .usual,
    selection: String? = nil, digest: String? = nil, sum: String? = nil
  ) {
    self.changed = changed
    var identity = identity
    identity.size = min(max(identity.size, -1), Self.sizes.upperBound)
    box = Box(
      Fields(
        key: key, name: name, wanted: wanted, identity: identity, validator: validator,
        fetchedAt: Self.time(fetchedAt), usedAt: Self.time(usedAt ?? fetchedAt), status: status, freshness: freshness,
        trust: trust,
        effectiveURL: effectiveURL, selection: selection, digest: digest, sum: sum))
  }

  // Spelled out, because a key path from another module is walked on each access.
  package var key: RowKey { box.fields.key }
  package var name: String { box.fields.name }
  package var wanted: String { box.fields.wanted }
  package var identity: FileIdentity { box.fields.identity }
  package var validator: Validator { box.fields.validator }
  package var fetchedAt: Int64 { box.fields.fetchedAt }
  package var usedAt: Int64 { box.fields.usedAt }
  package var status: Int? { box.fields.status }
  package var freshness: FreshnessFields { box.fields.freshness }
  package var trust: TrustMark { box.fields.trust }
  package var effectiveURL: String? { box.fields.effectiveURL }
  package var selection: String? { box.fields.selection }
  package var digest: String? { box.fields.digest }
  package var sum: String? { box.fields.sum }

  /// Reads several fields without copying each.
  package func read<Value, Failure>(_ body: (borrowing Fields) throws(Failure) -> Value) throws(Failure) -> Value {
    try body(box.fields)
  }

  /// For changes. Each assignment copies all fields; `change` makes several changes with one copy.
  package var fields: Fields {
    get { box.fields }
    set { box = Box(newValue) }
  }

  package mutating func change(_ change: (inout Fields) -> Void) { change(&fields) }

  /// Whether a request for the same URL wants this file: the keys are equal, or the file has the wanted name in the
  /// same folder.
  package func isFile(named name: @autoclosure () -> String, of key: RowKey) -> Bool {
    self.key == key || hasName(name(), in: key)
  }

  package func hasName(_ name: String, in key: RowKey) -> Bool {
    self.key.isUsers && FileNaming.areSame(self.name, name) && FileNaming.areSame(self.key.directory, key.directory)
  }

  /// This row under the key and wanted name of an older row of the same file.
  func keeping(_ old: CacheRow) -> CacheRow {
    guard old.key != key else { return self }
    var row = self
    row.change { row in
      row.key = old.key
      row.wanted = old.wanted
    }
    return row
  }

  func named(_ name: String) -> CacheRow {
    guard !FileNaming.areSame(self.name, name) else { return self }
    var row = self
    row.fields.name = name
    return row
  }

  package var path: String { key.directory == "/" ? "/" + name : key.directory + "/" + name }

  /// The row after a 304, whose fields replace those of the stored answer (RFC 9111 §4.3.4). `askedAt` is when the
  /// request was sent, in seconds since 1970; `digest` is the checksum that was compared.
  package func renewed(by head: ResponseHead, askedAt: Int64, digest: ContentDigest?) -> CacheRow {
    let fields = FreshnessFields(head)
    let theirs = Validator(head)
    var row = self
    row.change { row in
      row.fetchedAt = askedAt
      row.usedAt = max(row.usedAt, askedAt)
      row.freshness.update(fields)
      if let digest { row.digest = "\(digest)" }
      if let date = theirs.date { row.validator.date = date }
      if fields.forbidsStoring {
        row.validator = Validator()
        row.freshness = FreshnessFields(vary: row.freshness.vary)
      } else if let changed = theirs.lastModified {
        row.validator.lastModified = changed
      }
    }
    return row
  }

  /// The row of a file whose bytes are wrong: it answers no request, and dlm may replace the file.
  package var discredited: CacheRow {
    var row = self
    row.fields.validator = Validator()
    row.fields.digest = nil
    row.fields.freshness = FreshnessFields(vary: row.freshness.vary)
    return row
  }

  package var proof: Proof { digest.map { Proof(rawValue: $0) ?? .digest } ?? .length }

  /// The stored form of a proof.
  static func digest(_ proof: Proof, _ checksum: ContentDigest?) -> String? {
    switch proof {
    case .nothing, .framing: proof.rawValue
    case .length: nil
    case .digest: checksum.map { "\($0)" } ?? proof.rawValue
    }
  }

  /// `algorithm:hex`; `nil` unless a checksum of the whole file proved it.
  package var checksum: String? { digest.flatMap { Proof(rawValue: $0) == nil ? $0 : nil } }

  /// Whether a use is worth a write: at most once a day.
  package func isUsedAgain(at now: Int64) -> Bool { abs(now - usedAt) >= 86_400 }

  /// Whether the file can answer a later request: it has a validator or a lifetime.
  package var mayAnswer: Bool { !validator.isEmpty || freshness.namesLifetime }

  /// Whether a file is the one that was written, unchanged, and owned by the user (HTTP rule 44). With a `sum`, the
  /// bytes are checked when they are copied.
  package func isIntact(_ file: StandingFile?) -> Bool {
    guard let file, isOwn(file) else { return false }
    return sum != nil || changed.isThat(of: file)
  }

  /// Whether a file is unchanged since it was written, whichever user owns it now.
  func describes(_ file: StandingFile) -> Bool { file.identity == identity && changed.isThat(of: file) }

  /// Whether a file is still dlm's to replace. Its names or permissions may have changed.
  package func isOwn(_ file: StandingFile) -> Bool { file.isUsers && file.identity == identity }

  package var isIntact: Bool { isIntact(StandingFile.of(path: path)) }

  /// Uses the open folder if the file is in it: the kernel then finds the file in half the time.
  package func isIntact(in directory: OutputDirectory) -> Bool {
    guard key.directory == directory.canonicalPath else { return isIntact }
    // A file that cannot be examined counts as changed.
    return isIntact(try? directory.folder.standing(name))
  }

  package static func == (left: CacheRow, right: CacheRow) -> Bool {
    left.changed == right.changed && left.isSame(butForChange: right)
  }

  package func isSame(butForChange other: CacheRow) -> Bool { box === other.box || box.fields == other.box.fields }
}
