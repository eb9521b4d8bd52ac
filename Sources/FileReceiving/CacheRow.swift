package import DownloadModel

/// A file that dlm wrote, as it was when it was finished.
///
/// Its fields are behind a reference and are copied on change: it is large, and every async function that handles it
/// would otherwise reserve that much for each file.
package struct CacheRow: Equatable {
  package struct Fields: Equatable {
    package var key: RowKey
    package var name: String
    /// Before the list's number or a conflict changed it.
    package var wanted: String
    package var identity: FileIdentity
    /// Empty where the answer may not be reused (`no-store`), or where nothing proved that the body was whole.
    package var validator: Validator
    /// Seconds since 1970 at which the request was sent whose answer last vouched for it (RFC 9111 §4.2.3).
    package var fetchedAt: Int64
    /// Seconds since 1970 at which it last answered a request.
    package var usedAt: Int64
    /// Status of the answer that brought it; nil where none did.
    package var status: Int?
    package var freshness: FreshnessFields
    /// Under which it was received, or last confirmed.
    package var trust: TrustMark
    /// `EffectiveURL` of the resource that answered, where redirects led to another one.
    package var effectiveURL: String?
    /// `RequestFingerprint.selection`; nil for nothing.
    package var selection: String?
    /// What proves the file: `algorithm:hex`, nil for its length, or the name of a lesser proof.
    package var digest: String?
    /// SHA-256 of an entry of the store that is the user's file as well (`StoreKind.link`).
    package var sum: String?
  }

  private final class Box: Sendable {
    let fields: Fields
    init(_ fields: Fields) { self.fields = fields }
  }

  private var box: Box
  /// Known only once the file has its name.
  package var changed: ChangeTime

  /// A pebibyte at most, and times up to the year 36812: a damaged row must not stop a calculation.
  package static let sizes: ClosedRange<Int64> = 0...(1 << 50)
  private static func time(_ seconds: Int64) -> Int64 { min(max(seconds, 0), 1 << 40) }

  package init(
    key: RowKey, name: String, wanted: String, identity: FileIdentity, changed: ChangeTime,
    validator: Validator, fetchedAt: Int64, usedAt: Int64? = nil, status: Int? = nil,
    freshness: FreshnessFields, effectiveURL: String? = nil, trust: TrustMark = .usual,
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

  // Each spelled out, since a key path from another room is walked at each use.
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

  /// All of them, without a copy of each.
  package func read<Value, Failure>(_ body: (borrowing Fields) throws(Failure) -> Value) throws(Failure) -> Value {
    try body(box.fields)
  }

  /// For changes, each of which copies them all: `change` makes several with one copy.
  package var fields: Fields {
    get { box.fields }
    set { box = Box(newValue) }
  }

  package mutating func change(_ change: (inout Fields) -> Void) { change(&fields) }

  /// Whether this is the file that a request for the same address wants: the one of that name, however it came to it,
  /// or the one that was renamed from it.
  package func isFile(named name: @autoclosure () -> String, of key: RowKey) -> Bool {
    self.key == key || hasName(name(), in: key)
  }

  package func hasName(_ name: String, in key: RowKey) -> Bool {
    self.key.isUsers && FileNaming.areSame(self.name, name) && FileNaming.areSame(self.key.directory, key.directory)
  }

  /// This row in the place of one of the same file, whichever request that was for.
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
  /// request was sent, in seconds since 1970; `digest` is what was compared.
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

  /// For a file whose bytes proved wrong: it answers nothing any more, and is dlm's own to replace.
  package var discredited: CacheRow {
    var row = self
    row.fields.validator = Validator()
    row.fields.digest = nil
    row.fields.freshness = FreshnessFields(vary: row.freshness.vary)
    return row
  }

  package var proof: Proof { digest.map { Proof(rawValue: $0) ?? .digest } ?? .length }

  /// What is kept of a proof.
  static func digest(_ proof: Proof, _ checksum: ContentDigest?) -> String? {
    switch proof {
    case .nothing, .framing: proof.rawValue
    case .length: nil
    case .digest: checksum.map { "\($0)" } ?? proof.rawValue
    }
  }

  /// `algorithm:hex`, once something but its pieces has proved it.
  package var checksum: String? { digest.flatMap { Proof(rawValue: $0) == nil ? $0 : nil } }

  /// Whether a use is worth a write: at most once a day.
  package func isUsedAgain(at now: Int64) -> Bool { abs(now - usedAt) >= 86_400 }

  /// Whether it can answer a later request: its server can be asked about it, or named a lifetime.
  package var mayAnswer: Bool { !validator.isEmpty || freshness.namesLifetime }

  /// Whether a file is the one that was written, untouched, and the user's (HTTP rule 44). What has a `sum` proves its
  /// bytes when they are copied.
  package func isIntact(_ file: StandingFile?) -> Bool {
    guard let file, isOwn(file) else { return false }
    return sum != nil || changed.isThat(of: file)
  }

  /// Whether a file is of the version that was written, whoever owns it by now.
  func describes(_ file: StandingFile) -> Bool { file.identity == identity && changed.isThat(of: file) }

  /// The same, though its names or permissions may have changed: it is still dlm's to replace.
  package func isOwn(_ file: StandingFile) -> Bool { file.isUsers && file.identity == identity }

  package var isIntact: Bool { isIntact(StandingFile.of(path: path)) }

  /// Through the open folder if it is that: the kernel finds the file in half the time.
  package func isIntact(in directory: OutputDirectory) -> Bool {
    guard key.directory == directory.canonicalPath else { return isIntact }
    // A file that cannot be examined is not known.
    return isIntact(try? directory.folder.standing(name))
  }

  package static func == (left: CacheRow, right: CacheRow) -> Bool {
    left.changed == right.changed && left.isSame(butForChange: right)
  }

  package func isSame(butForChange other: CacheRow) -> Bool { box === other.box || box.fields == other.box.fields }
}
