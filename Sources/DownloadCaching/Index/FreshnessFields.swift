import DownloadModel

/// The fields of an answer that decide how long it is fresh (RFC 9111 §4.2), as sent.
struct FreshnessFields: Sendable, Equatable {
  var cacheControl: String?
  var expires: String?
  var age: String?
  var vary: String?

  init(cacheControl: String? = nil, expires: String? = nil, age: String? = nil, vary: String? = nil) {
    self.cacheControl = cacheControl
    self.expires = expires
    self.age = age
    self.vary = vary
  }

  init(_ head: ResponseHead) {
    self.init(
      cacheControl: head["cache-control"], expires: head["expires"], age: head["age"], vary: head["vary"])
  }

  var isEmpty: Bool { self == FreshnessFields() }

  /// Takes over what a 304 says anew; what it does not repeat stands (RFC 9111 §3.2).
  mutating func update(_ newer: FreshnessFields) {
    cacheControl = newer.cacheControl ?? cacheControl
    expires = newer.expires ?? expires
    age = newer.age ?? age
    vary = newer.vary ?? vary
  }

  /// RFC 9111 §5.2.2.5. A directive with an argument, or twice, forbids as well: the strictest reading.
  var forbidsStoring: Bool {
    guard let cacheControl else { return false }
    return cacheControl.split(separator: ",").contains { directive in
      let name = directive.prefix { $0 != "=" }
      return name.filter { !$0.isWhitespace }.lowercased() == "no-store"
    }
  }
}
