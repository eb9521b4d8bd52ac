package import DownloadModel

/// The fields of an answer that decide how long it is fresh (RFC 9111 §4.2), as sent.
package struct FreshnessFields: Equatable {
  package var cacheControl: String?
  package var expires: String?
  package var age: String?
  package var vary: String?

  package init(cacheControl: String? = nil, expires: String? = nil, age: String? = nil, vary: String? = nil) {
    self.cacheControl = cacheControl
    self.expires = expires
    self.age = age
    self.vary = vary
  }

  /// Replaces the fields that a 304 renews (RFC 9111 §3.2).
  mutating func update(_ newer: FreshnessFields) {
    cacheControl = newer.cacheControl ?? cacheControl
    expires = newer.expires ?? expires
    // The stored Age does not apply to the 304: without an Age of its own, its Date gives the age.
    age = newer.age
    vary = newer.vary ?? vary
  }

  package var namesLifetime: Bool {
    let control = CacheControl(cacheControl)
    return expires != nil || control.permits("max-age") || control.permits("immutable")
  }

  /// RFC 9111 §5.2.2.5.
  package var forbidsStoring: Bool { cacheControl != nil && CacheControl(cacheControl).restricts("no-store") }

  package init(_ head: ResponseHead) {
    self.init(cacheControl: head["cache-control"], expires: head["expires"], age: head["age"], vary: head["vary"])
  }
}
