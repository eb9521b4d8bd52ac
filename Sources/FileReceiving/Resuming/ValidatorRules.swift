import DownloadModel

extension Validator {
  /// When the file changed, in seconds since 1970; nil also for the first day of 1970: reproducible builds give every
  /// version of a file the time 0, or 1 (Nix).
  package var changed: Int64? {
    lastModified.flatMap(HTTPDate.init).flatMap { $0.seconds < 86_400 ? nil : $0.seconds }
  }

  /// The line of a request for another version only (RFC 9110 §13.1); nil where no answer to it could be believed.
  package var condition: String? { KnownVersion(validator: self).condition }

  /// Last-Modified, if it is a strong validator (RFC 9110 §8.8.2.2): no second change can hide in the same second.
  var strongDate: String? {
    guard let lastModified, let date, let changed, let sent = HTTPDate(date),
      sent.seconds - changed >= 1
    else { return nil }
    return lastModified
  }

  /// What If-Range may send (RFC 9110 §13.1.5): never a weak tag, and a date only where there is no tag.
  var ifRange: String? { etag == nil ? strongDate : strongETag }

  /// Whether an answer is certainly of the same version as these bytes.
  func isStronglyEqual(to other: Validator) -> Bool {
    if let strongETag { return ByteText.areSame(strongETag, other.strongETag) }
    return etag == nil && other.etag == nil && strongDate != nil && lastModified == other.lastModified
  }

  /// Whether an answer repeats the known tag and date. Tags are compared weakly (RFC 9110 §8.8.3.2), because a server
  /// that calls a tag weak in the second of the change calls it strong in the next.
  func isWeaklyEqual(to other: Validator) -> Bool {
    (etag == nil || etag.map(EntityTag.opaque) == other.etag.map(EntityTag.opaque))
      && (lastModified == nil || lastModified == other.lastModified)
  }

  /// Whether an answer is certainly of another version: it names a tag or date, and a different one.
  func contradicts(_ other: Validator) -> Bool {
    if let etag, let theirs = other.etag { return !ByteText.areSame(etag, theirs) }
    if let lastModified, let theirs = other.lastModified { return lastModified != theirs }
    return false
  }
}

/// Entity tags (RFC 9110 §8.8.3) in the forms that servers use.
enum EntityTag {
  /// For comparison alone, by bytes, as all tags are compared.
  static func opaque(_ tag: String) -> ByteText { ByteText(tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]) }

  /// The tag of the same version without content coding, if it names one. Apache compresses `"5f3"` on the fly as
  /// `"5f3-gzip"`, but compares the former only. Others write `-br`, `--gzip`, `;gzip` or `:gzip`.
  static func uncoded(_ tag: String) -> String {
    guard tag.utf8.last == UInt8(ascii: "\"") else { return tag }
    for coding in codings where tag.utf8.dropLast().reversed().starts(with: coding.utf8.reversed()) {
      let stem = tag.utf8.dropLast(coding.utf8.count + 1)
      guard let mark = stem.last, marks.contains(mark) else { continue }
      let rest = Substring(stem.dropLast(mark == UInt8(ascii: "-") && stem.dropLast().last == mark ? 2 : 1))
      // `"gzip"` and `"-gzip"` are ordinary tags.
      return rest.utf8.last == UInt8(ascii: "\"") ? tag : String(rest) + "\""
    }
    return tag
  }

  private static let codings = ["gzip", "br", "deflate", "zstd"]
  private static let marks = Set("-;:".utf8)
}

/// What is known of a finished file when its server is asked whether it is still current: which condition to send, and
/// which 304 to believe (RFC 9110 §13.1, RFC 9111 §4.3; HTTP rules 16, 27–29 and 31).
package struct KnownVersion: Equatable {
  var validator: Validator
  /// `EffectiveURL` of the resource that gave the validator; nil if that is the requested address.
  var effectiveURL: String?
  /// Whether this request's selecting fields equal those of the stored one (RFC 9111 §4.1). If not, a 304 is believed
  /// only if it names a strong tag.
  var isSelected = true

  /// The line of a conditional request; nil where no answer to one could be believed. A weak date (RFC 9110 §8.8.2.2)
  /// may be that of the version before.
  var condition: String? {
    let validator = validator.fitForHeaders
    if let etag = validator.etag {
      guard isSelected || validator.strongETag != nil else { return nil }
      let uncoded = EntityTag.uncoded(etag)
      // A server that derives one tag from the other may recognise either of them only.
      return "If-None-Match: " + (uncoded == etag ? etag : "\(etag), \(uncoded)")
    }
    return isSelected ? validator.strongDate.map { "If-Modified-Since: \($0)" } : nil
  }

  /// Whether a 304 confirms that the stored file is current: it came from the resource that the validator is of, and it
  /// names no other version (RFC 9111 §4.3.4).
  func isConfirmed(by head: ResponseHead) -> Bool {
    guard head.effectiveName == effectiveURL else { return false }
    let theirs = Validator(head)
    if let named = theirs.etag, let etag = validator.etag {
      // A strong tag is compared strongly, a weak one weakly; a weak one promises no equal bytes.
      let named = EntityTag.uncoded(named)
      let etag = EntityTag.uncoded(etag)
      return theirs.strongETag != nil
        ? ByteText.areSame(named, etag) : isSelected && EntityTag.opaque(named) == EntityTag.opaque(etag)
    }
    guard isSelected else { return false }
    guard let changed = theirs.lastModified, let known = validator.lastModified else {
      // The 304 names nothing to compare, so it is about the condition that was sent. A strong tag is not accepted
      // where only a date was known.
      return theirs.strongETag == nil
    }
    if changed == known { return true }
    guard let changed = HTTPDate(changed), let known = HTTPDate(known) else { return false }
    // The tag decided, because a file may be touched without a change.
    return validator.etag == nil ? changed == known : changed.seconds >= known.seconds
  }
}

extension KnownVersion {
  package init(_ row: CacheRow, isSelected: Bool) {
    self.init(validator: row.validator, effectiveURL: row.effectiveURL, isSelected: isSelected)
  }
}
