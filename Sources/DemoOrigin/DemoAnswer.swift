/// What the origin reads of a request.
struct DemoRequest: Sendable, Equatable {
  var method = "GET"
  /// Percent-encoded, without query.
  var path: String
  var range: String?
  var ifRange: String?
  var ifNoneMatch: String?
  var ifModifiedSince: String?
  /// Whether the client asked for the connection to end with the answer (RFC 9112 §9.6).
  var wantsClose = false
}

/// What the origin will send: status, fields and which bytes of which file.
struct DemoAnswer: Sendable, Equatable {
  var status: Int
  var fields: [String: String]
  /// nil when nothing follows the head.
  var body: Body?

  struct Body: Sendable, Equatable {
    let content: DemoContent
    let range: Range<Int>
  }

  /// Decides about a request. Pure: the same request, catalogue and moment give the same answer.
  /// - Parameter now: seconds since 1970, for the Date field.
  init(to request: DemoRequest, files: [String: DemoFile], now: Int64) {
    status = 200
    fields = ["Date": HTTPDate.text(secondsSince1970: now)]
    if request.wantsClose { fields["Connection"] = "close" }
    guard let file = files[request.path] else {
      status = 404
      return
    }
    guard request.method == "GET" || request.method == "HEAD" else {
      status = 405
      fields["Allow"] = "GET, HEAD"
      return
    }
    answer(request, with: file)
  }

  private mutating func answer(_ request: DemoRequest, with file: DemoFile) {
    let lastModified = HTTPDate.text(secondsSince1970: file.lastModified)
    let conditions = FilePreconditions(entityTag: file.entityTag, lastModified: lastModified)
    fields["ETag"] = file.entityTag
    fields["Last-Modified"] = lastModified
    // A copy may be kept but is to be asked about: without this a cache may guess weeks of freshness from
    // Last-Modified (RFC 9111 §4.2.2), and a second run would show no 304.
    fields["Cache-Control"] = "no-cache"
    fields["Accept-Ranges"] = "bytes"
    if conditions.isUnchanged(ifNoneMatch: request.ifNoneMatch, ifModifiedSince: request.ifModifiedSince) {
      status = 304
      // The length that a 200 would have had: another number is forbidden (RFC 9110 §8.6).
      fields["Content-Length"] = String(file.size)
      return
    }
    fields["Content-Type"] = DemoMediaType.of(path: file.path)
    if request.method == "HEAD" {
      fields["Content-Length"] = String(file.size)
      return
    }
    let wanted = conditions.allowsRange(ifRange: request.ifRange) ? request.range : nil
    switch RangeSelection(field: wanted, size: file.size) {
    case .whole:
      body = Body(content: file.content, range: 0..<file.size)
    case .part(let range):
      status = 206
      fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
      body = Body(content: file.content, range: range)
    case .unsatisfiable:
      status = 416
      fields["Content-Type"] = nil
      fields["Content-Range"] = "bytes */\(file.size)"
    }
  }
}

/// Content-Type (RFC 9110 §8.3) by the ending of a name.
private enum DemoMediaType {
  static func of(path: String) -> String {
    switch path.split(separator: ".").last {
    case "csv": "text/csv"
    case "gz", "tgz": "application/gzip"
    case "jpg": "image/jpeg"
    case "json", "geojson": "application/json"
    case "md", "txt": "text/plain; charset=utf-8"
    case "pdf": "application/pdf"
    case "png": "image/png"
    case "svg": "image/svg+xml"
    case "webp": "image/webp"
    case "zip": "application/zip"
    default: "application/octet-stream"
    }
  }
}

/// A moment as HTTP writes it: IMF-fixdate (RFC 9110 §5.6.7), `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  static func text(secondsSince1970 seconds: Int64) -> String {
    let (days, second) = floorDivide(seconds, by: 86_400)
    let (year, month, day) = date(daysSince1970: days)
    // 1 January 1970 was a Thursday.
    let weekday = weekdays[Int(floorDivide(days + 4, by: 7).remainder)]
    return "\(weekday), \(two(day)) \(months[month - 1]) \(four(year)) "
      + "\(two(Int(second) / 3600)):\(two(Int(second) / 60 % 60)):\(two(Int(second) % 60)) GMT"
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The Gregorian date of a day. The year is counted from 1 March, so that the leap day is its last one.
  private static func date(daysSince1970 days: Int64) -> (year: Int, month: Int, day: Int) {
    // 719 468 days lie between 1 March of year 0 and 1970; 146 097 days are four centuries.
    let (era, dayOfEra) = floorDivide(days + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), Int(month), Int(day))
  }

  private static func floorDivide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func four(_ number: Int) -> String {
    String(repeating: "0", count: max(0, 4 - String(number).count)) + "\(number)"
  }
}
