import DownloadModel

/// The version of a finished file, for a conditional request: which condition to send, and which 304 to accept
/// (RFC 9110 §13.1, RFC 9111 §4.3; HTTP rules 16, 27–29 and 31).
package struct KnownVersion: Equatable {
  var validator: Validator
  /// `EffectiveURL` of the resource that gave the validator; `nil` for the requested URL.
  var effectiveURL: String?
  /// Whether this request's selecting fields equal those of the stored one (RFC 9111 §4.1). If not, a 304 is accepted
  /// only if it names a strong tag.
  var isSelected = true

  /// The line of a conditional request; `nil` if no answer to it could be accepted. A weak date (RFC 9110 §8.8.2.2) may
  /// be that of the previous version.
  var condition: String? {
    let validator = validator.fitForHeaders
    if let etag = validator.etag {
      guard isSelected || validator.strongETag != nil else { return nil }
      let uncoded = EntityTag.uncoded(etag)
      // A server that derives one tag from the other may recognise only one of them.
      return "If-None-Match: " + (uncoded == etag ? etag : "\(etag), \(uncoded)")
    }
    return isSelected ? validator.strongDate.map { "If-Modified-Since: \($0)" } : nil
  }

  /// Whether a 304 confirms that the stored file is current: it is from the validator's resource, and it names no other
  /// version (RFC 9111 §4.3.4).
  func isConfirmed(by head: ResponseHead) -> Bool {
    guard head.effectiveName == effectiveURL else { return false }
    let theirs = Validator(head)
    if let named = theirs.etag, let etag = validator.etag {
      // A strong tag is compared strongly, a weak one weakly. A weak tag does not promise equal bytes.
      let named = EntityTag.uncoded(named)
      let etag = EntityTag.uncoded(etag)
      return theirs.strongETag != nil
        ? ByteText.areSame(named, etag) : isSelected && EntityTag.opaque(named) == EntityTag.opaque(etag)
    }
    guard isSelected else { return false }
    guard let changed = theirs.lastModified, let known = validator.lastModified else {
      // The 304 names nothing to compare, so it refers to the condition that was sent. A strong tag is not accepted if
      // only a date was known.
      return theirs.strongETag == nil
    }
    if changed == known { return true }
    guard let changed = HTTPDate(changed), let known = HTTPDate(known) else { return false }
    // With a tag, a later date is accepted too: a file may be touched without a change.
    return validator.etag == nil ? changed == known : changed.seconds >= known.seconds
  }
}

extension KnownVersion {
  package init(_ row: CacheRow, isSelected: Bool) {
    self.init(validator: row.validator, effectiveURL: row.effectiveURL, isSelected: isSelected)
  }
}
