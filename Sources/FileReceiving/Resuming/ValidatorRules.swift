import DownloadModel

extension Validator {
  /// When the file changed, in seconds since 1970; `nil` also for the first day of 1970, because reproducible builds
  /// give every version of a file the time 0, or 1 (Nix).
  package var changed: Int64? {
    lastModified.flatMap(HTTPDate.init).flatMap { $0.seconds < 86_400 ? nil : $0.seconds }
  }

  /// The line of a request for another version only (RFC 9110 §13.1); `nil` if no answer to it could be accepted.
  package var condition: String? { KnownVersion(validator: self).condition }

  /// Last-Modified, if it is a strong validator (RFC 9110 §8.8.2.2): no second change can hide in the same second.
  var strongDate: String? {
    guard let lastModified, let date, let changed, let sent = HTTPDate(date),
      sent.seconds - changed >= 1
    else { return nil }
    return lastModified
  }

  /// The value of If-Range (RFC 9110 §13.1.5): never a weak tag, and a date only without a tag.
  var ifRange: String? { etag == nil ? strongDate : strongETag }

  /// Whether an answer certainly has the same version.
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

  /// Whether an answer certainly has another version: it names a different tag or date.
  func contradicts(_ other: Validator) -> Bool {
    if let etag, let theirs = other.etag { return !ByteText.areSame(etag, theirs) }
    if let lastModified, let theirs = other.lastModified { return lastModified != theirs }
    return false
  }
}
