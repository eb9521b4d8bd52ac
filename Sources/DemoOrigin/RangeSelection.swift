import DownloadModel

/// The part of a file that a `Range` field requests (RFC 9110 §14.2).
enum RangeSelection: Equatable {
  /// The whole file: no range, or one that is malformed, of another unit, or of several parts, which a server may
  /// ignore.
  case whole
  case part(Range<Int>)
  /// No byte of the range exists: 416 (RFC 9110 §15.5.17).
  case unsatisfiable

  init(field: String?, size: Int) {
    switch field.flatMap(Self.bounds) {
    case (let first?, let last)? where last ?? .max >= first:
      self = first < size ? .part(first..<(min(last ?? .max, size - 1) + 1)) : .unsatisfiable
    case (nil, let suffix?)?: self = suffix > 0 && size > 0 ? .part(max(0, size - suffix)..<size) : .unsatisfiable
    default: self = .whole
    }
  }

  /// The two numbers of `bytes=first-last`, each `nil` if it is absent; `nil` if this is not one byte range.
  private static func bounds(_ field: String) -> (first: Int?, last: Int?)? {
    let sides = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard sides.count == 2, sides[0].lowercased() == "bytes" else { return nil }
    let ends = sides[1].filter { $0 != " " && $0 != "\t" }.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(\.isDigit) }) else { return nil }
    // A number too large for an Int is behind the end of every file.
    let numbers = ends.map { $0.isEmpty ? nil : Int($0) ?? .max }
    return (numbers[0], numbers[1])
  }
}
