/// What tells one version of a file from the next (RFC 9110 §8.8).
public struct Validator: Sendable, Equatable, Codable {
  /// The entity tag as sent, with quotes and a possible `W/`.
  public var etag: String?
  /// Last-Modified as sent.
  public var lastModified: String?
  /// Date as sent: it decides whether Last-Modified is strong.
  public var date: String?

  public init(etag: String? = nil, lastModified: String? = nil, date: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
    self.date = date
  }

  public init(_ head: ResponseHead) {
    self.init(etag: head["etag"], lastModified: head["last-modified"], date: head["date"])
  }

  /// An entity tag that promises equal bytes (RFC 9110 §8.8.3).
  public var strongETag: String? {
    guard let etag, etag.hasPrefix("\""), etag.count >= 2, etag.hasSuffix("\"") else { return nil }
    return etag
  }

  public var isEmpty: Bool { etag == nil && lastModified == nil }
}
