import DownloadModel

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
    fields = ["Date": HTTPDate.text(now)]
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
    let lastModified = HTTPDate.text(file.lastModified)
    let conditions = FilePreconditions(entityTag: file.entityTag, lastModified: lastModified)
    fields["ETag"] = file.entityTag
    fields["Last-Modified"] = lastModified
    // A copy may be kept but is to be asked about: without this a cache may guess weeks of freshness from Last-Modified
    // (RFC 9111 §4.2.2), and a second run would show no 304.
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
