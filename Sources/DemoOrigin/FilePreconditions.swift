/// The conditions of a request, judged against a file (RFC 9110 §13).
struct FilePreconditions: Sendable {
  /// With quotes, strong.
  let entityTag: String
  /// As sent in Last-Modified.
  let lastModified: String

  /// Whether the client has this version already: the answer is 304 (RFC 9110 §13.1.2, §13.1.3, §13.2.2).
  func isUnchanged(ifNoneMatch: String?, ifModifiedSince: String?) -> Bool {
    if let ifNoneMatch {
      return ifNoneMatch == "*" || Self.opaqueTags(ifNoneMatch).contains { $0 == entityTag }
    }
    // Only the very date that was sent counts, as with nginx's `if_modified_since exact`: a client sends back
    // what it got, and no date has to be parsed.
    return ifModifiedSince == lastModified
  }

  /// Whether a range may be served (RFC 9110 §13.1.5): the strong tag or the exact date, or no condition.
  func allowsRange(ifRange: String?) -> Bool {
    guard let ifRange else { return true }
    return ifRange == entityTag || ifRange == lastModified
  }

  /// The tags of a list without `W/`, because If-None-Match compares weakly (RFC 9110 §8.8.3.2).
  private static func opaqueTags(_ list: String) -> [Substring] {
    var tags: [Substring] = []
    var rest = list[...]
    // Not split at commas: a tag may hold one.
    while let open = rest.firstIndex(of: "\"") {
      guard let close = rest[rest.index(after: open)...].firstIndex(of: "\"") else { break }
      tags.append(rest[open...close])
      rest = rest[rest.index(after: close)...]
    }
    return tags
  }
}
