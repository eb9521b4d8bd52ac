/// The head of a request (RFC 9112 §3), as far as a test origin needs it.
struct OriginRequest: Sendable, Equatable {
  var method: String
  /// As sent, with its query.
  var target: String
  /// Lower-cased names; equal names joined with ", ".
  var headers: [String: String] = [:]
  var keepsAlive = true

  init(method: String, target: String, headers: [String: String] = [:]) {
    self.method = method
    self.target = target
    self.headers = headers
  }

  /// - Parameter head: everything before the empty line.
  init?(head: some Sequence<UInt8>) {
    // "\r\n" is one Character, so it is a separator like any other.
    let lines = String(decoding: Array(head), as: UTF8.self).split(separator: "\r\n")
    guard let words = lines.first?.split(separator: " "), words.count == 3 else { return nil }
    self.init(method: String(words[0]), target: String(words[1]))
    for line in lines.dropFirst() {
      let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { return nil }
      let name = sides[0].lowercased()
      let value = String(sides[1].drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    keepsAlive = words[2] == "HTTP/1.1" && headers["connection"]?.lowercased() != "close"
  }

  /// Where the script of this request stands: the target, else its path alone; a proxy's absolute form is
  /// cut.
  var routes: [String] {
    var path = Substring(target)
    if let scheme = path.firstRange(of: "://") {
      path = path[scheme.upperBound...].drop { $0 != "/" }
    }
    return [target, String(path), String(path.prefix { $0 != "?" })]
  }

  /// `Range: bytes=N-`, `N-M` or `-N` (RFC 9110 §14.1.2) in a file of that length.
  /// - Returns: nil if there is none that is understood (then the whole file is the answer).
  func range(in length: Int) -> RangeRequest? {
    guard let text = headers["range"], text.hasPrefix("bytes=") else { return nil }
    let ends = text.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, nil) where ends[1].isEmpty:
      return first < length ? .part(first..<length) : .unsatisfiable
    case (let first?, let last?) where first <= last:
      return first < length ? .part(first..<min(last + 1, length)) : .unsatisfiable
    case (nil, let suffix?) where ends[0].isEmpty:
      return suffix > 0 && length > 0 ? .part(max(0, length - suffix)..<length) : .unsatisfiable
    default: return nil
    }
  }
}

enum RangeRequest: Equatable {
  case part(Range<Int>)
  case unsatisfiable
}
