import DownloadModel

/// What is known of a finished file when its server is asked whether it is still the current one: what to ask, and which
/// 304 to believe (RFC 9110 §13.1, RFC 9111 §4.3; http.md 16, 27–29, 31).
struct KnownVersion: Sendable, Equatable {
  var validator: Validator
  /// `EffectiveURL` of the resource that gave the validator; nil if it is the address that is asked.
  var answeredBy: String?
  /// Whether this request's selecting fields are those of the stored one (RFC 9111 §4.1). If not, only a strong tag, which
  /// the server names again, says that it means these bytes.
  var isSelected = true

  /// The line of a conditional request; nil where no answer to one could be believed.
  ///
  /// A date only where it is valid and strong (RFC 9110 §8.8.2.2): a weak one may be that of the version before.
  var condition: String? {
    let validator = validator.fitForHeaders
    if let etag = validator.etag {
      guard isSelected || validator.strongETag != nil else { return nil }
      let uncoded = EntityTag.uncoded(etag)
      // A server that makes the one out of the other knows it by itself, or by the other only.
      return "If-None-Match: " + (uncoded == etag ? etag : "\(etag), \(uncoded)")
    }
    return isSelected ? validator.strongDate.map { "If-Modified-Since: \($0)" } : nil
  }

  /// Whether a 304 says that the stored file is the current version: it came from the resource that the validator is of,
  /// and names no other version (RFC 9111 §4.3.4).
  func isConfirmed(by head: ResponseHead) -> Bool {
    guard head.effectiveURL == answeredBy else { return false }
    let theirs = Validator(head)
    if let named = theirs.etag, let etag = validator.etag {
      // A strong tag is compared strongly; a weak one at its word, which promises no bytes.
      let (named, etag) = (EntityTag.uncoded(named), EntityTag.uncoded(etag))
      return theirs.strongETag != nil
        ? named == etag : isSelected && EntityTag.opaque(named) == EntityTag.opaque(etag)
    }
    guard isSelected else { return false }
    guard let changed = theirs.lastModified, let known = validator.lastModified else {
      // It names nothing to compare: good for what was asked about, but not a tag where only a date was known.
      return theirs.strongETag == nil
    }
    if changed == known { return true }
    guard let changed = HTTPDate(changed), let known = HTTPDate(known) else { return false }
    // The tag was asked about: a file may be touched without change.
    return validator.etag == nil ? changed == known : changed >= known
  }
}

extension KnownVersion {
  init(_ row: CacheRow, isSelected: Bool) {
    self.init(validator: row.validator, answeredBy: row.answeredBy, isSelected: isSelected)
  }
}
