/// Which part of a file a `Range` field asks for (RFC 9110 §14.2).
enum RangeSelection: Sendable, Equatable {
  /// The whole file: no range, one that is malformed, of another unit, or of several parts, which a server may ignore.
  case whole
  case part(Range<Int>)
  /// No byte of the range exists: 416 (RFC 9110 §15.5.17).
  case unsatisfiable

  init(field: String?, size: Int) {
    guard let field, let bounds = Self.bounds(field) else {
      self = .whole
      return
    }
    switch bounds {
    case (.some(let first), .some(let last)) where last < first:
      self = .whole
    case (.some(let first), let last):
      self = first < size ? .part(first..<(min(last ?? .max, size - 1) + 1)) : .unsatisfiable
    case (nil, .some(let suffix)):
      self = suffix > 0 && size > 0 ? .part(max(0, size - suffix)..<size) : .unsatisfiable
    case (nil, nil):
      self = .whole
    }
  }

  /// The two numbers of `bytes=first-last`, either of which may be absent; nil if this is not one byte range.
  private static func bounds(_ field: String) -> (first: Int?, last: Int?)? {
    let sides = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2, sides[0].lowercased() == "bytes" else { return nil }
    let ends = sides[1].filter { $0 != " " && $0 != "\t" }
      .split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return nil }
    return (number(ends[0]), number(ends[1]))
  }

  private static func number(_ digits: Substring) -> Int? {
    // More digits than an Int holds lie behind the end of every file.
    digits.isEmpty ? nil : Int(digits) ?? .max
  }
}

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
    // Only the very date that was sent counts, as with nginx's `if_modified_since exact`: a client sends back what it
    // got, and no date has to be parsed.
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
