/// Which answer a file gives to a request: a pure rule, after RFC 9110 §13.2.2 (precedence of conditions).
struct FileReply: Equatable {
  var status: Int
  /// Without framing, Date and Connection.
  var headers: [String]
  /// The part of the file that is the body; nil if the answer has none.
  var body: Range<Int>?

  init(to request: OriginRequest, length: Int, options: FileOptions) {
    let validators = [
      options.etag.map { "ETag: \($0)" }, options.lastModified.map { "Last-Modified: \($0)" },
    ].compactMap(\.self)
    if Self.isUnchanged(request, options) {
      status = 304
      headers = validators
      return
    }
    let accept = options.acceptRanges.map { ["Accept-Ranges: \($0)"] } ?? []
    headers = validators + accept + options.headers
    status = 200
    body = 0..<length
    guard options.ranges != .ignored, let range = request.range(in: length),
      Self.ifRangeHolds(request, options)
    else { return }
    switch range {
    case .unsatisfiable:
      status = 416
      headers.append("Content-Range: bytes */\(length)")
      body = 0..<0
    case .part(let asked):
      status = 206
      makePartial(asked, of: length, options)
    }
  }

  private mutating func makePartial(_ asked: Range<Int>, of length: Int, _ options: FileOptions) {
    var part = asked
    var complete = String(length)
    switch options.ranges {
    case .shifted(let distance):
      let start = min(max(0, asked.lowerBound + distance), length - 1)
      part = start..<max(start + 1, asked.upperBound)
    case .completeLength(let text): complete = text
    case .capped(let count, let text):
      part = asked.prefix(count)
      complete = text
    case .changedETag(let etag):
      headers = ["ETag: \(etag)"] + headers.filter { !$0.hasPrefix("ETag:") }
    case .calledWhole: status = 200
    case .honoured, .ignored, .unlabelled, .dislikesIfRange: break
    }
    body = part
    if options.ranges != .unlabelled {
      headers.append("Content-Range: bytes \(part.lowerBound)-\(part.upperBound - 1)/\(complete)")
    }
  }

  /// RFC 9110 §13.1.2, §13.1.3. Dates are compared as text, as nginx does by default: only the very date
  /// matches.
  private static func isUnchanged(_ request: OriginRequest, _ options: FileOptions) -> Bool {
    guard options.revalidates else { return false }
    if let wanted = request.headers["if-none-match"] {
      if wanted == "*" { return true }
      guard let etag = options.etag else { return false }
      let tags = wanted.split(separator: ",").map { opaque($0.drop { $0 == " " }) }
      return tags.contains(opaque(etag[...]))
    }
    guard let since = request.headers["if-modified-since"] else { return false }
    return since == options.lastModified
  }

  /// RFC 9110 §13.1.5: the strong comparison for a tag, the very date for a date.
  private static func ifRangeHolds(_ request: OriginRequest, _ options: FileOptions) -> Bool {
    guard let condition = request.headers["if-range"] else { return true }
    switch options.ranges {
    case .dislikesIfRange: return false
    case .changedETag: return true
    default: break
    }
    if condition.hasPrefix("\"") { return condition == options.etag }
    return !condition.hasPrefix("W/") && condition == options.lastModified
  }

  /// A tag without its weakness mark.
  private static func opaque(_ tag: Substring) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag }
}
