/// Content-Range (RFC 9110 §14.4) of unit `bytes`: `bytes 0-9/100`, `bytes 0-9/*`, `bytes */100`.
package struct ContentRange: Sendable, Equatable {
  /// First to last byte; `nil` in a 416, which gives only the complete length.
  package let range: ClosedRange<Int64>?
  /// Length of the whole file in bytes; `nil` if the server does not give it.
  package let completeLength: Int64?

  package init?(_ text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let sides = parts[1].split(separator: "/", omittingEmptySubsequences: false)
    guard sides.count == 2 else { return nil }
    completeLength = ResponseHead.number(sides[1])
    guard sides[1] == "*" || completeLength ?? .max <= ResponseHead.longestFile else { return nil }
    if sides[0] == "*" {
      range = nil
      return
    }
    let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = ResponseHead.number(ends[0]), let last = ResponseHead.number(ends[1]),
      first <= last, last < completeLength ?? ResponseHead.longestFile
    else { return nil }
    range = first...last
  }
}
