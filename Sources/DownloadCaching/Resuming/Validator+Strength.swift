import DownloadModel

extension Validator {
  /// Last-Modified, if it is a strong validator (RFC 9110 §8.8.2.2): the answer was made at least a second
  /// after the file's last change, so no second change can hide in the same second.
  var strongDate: String? {
    guard let lastModified, let date, let changed = HTTPDate(lastModified), let sent = HTTPDate(date),
      sent.seconds - changed.seconds >= 1
    else { return nil }
    return lastModified
  }

  /// What If-Range may send (RFC 9110 §13.1.5): never a weak tag, and a date only where there is no tag.
  var ifRange: String? { etag == nil ? strongDate : strongETag }

  /// Whether an answer is surely of the same version as these bytes.
  func isStronglyEqual(to other: Validator) -> Bool {
    if let strongETag { return strongETag == other.strongETag }
    return etag == nil && other.etag == nil && strongDate != nil && lastModified == other.lastModified
  }

  /// Whether an answer repeats all that was said before, a tag at its word (RFC 9110 §8.8.3.2): a server that calls a tag
  /// weak in the second of the change calls it strong in the next one.
  func isWeaklyEqual(to other: Validator) -> Bool {
    (etag == nil || etag.map(EntityTag.opaque) == other.etag.map(EntityTag.opaque))
      && (lastModified == nil || lastModified == other.lastModified)
  }

  /// Whether an answer is surely of another version: it names a tag or date, and a different one.
  func contradicts(_ other: Validator) -> Bool {
    if let etag, let theirs = other.etag { return etag != theirs }
    if let lastModified, let theirs = other.lastModified { return lastModified != theirs }
    return false
  }

  /// Without anything that could not stand in a header line: a record on disk may have been written by
  /// someone else.
  var fitForHeaders: Validator {
    func clean(_ text: String?) -> String? {
      guard let text, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
      return text
    }
    return Validator(etag: clean(etag), lastModified: clean(lastModified), date: clean(date))
  }
}
