import DownloadModel

/// An answer of the origin: status, fields, and a range of a file.
struct DemoAnswer: Equatable {
  var status: Int
  var fields: [String: String]
  /// `nil` if no body follows the head.
  var body: Body?

  struct Body: Equatable {
    let content: DemoContent
    let range: Range<Int>
  }

  /// Answers a request; `now`, in seconds since 1970, is for the Date field.
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
      // A body may follow, which is not read.
      fields.merge(["Allow": "GET, HEAD", "Connection": "close"]) { $1 }
      return
    }
    answer(request, with: file)
  }

  private mutating func answer(_ request: DemoRequest, with file: DemoFile) {
    let lastModified = HTTPDate.text(file.lastModified)
    fields["ETag"] = file.entityTag
    fields["Last-Modified"] = lastModified
    // Otherwise a cache may guess weeks of freshness (RFC 9111 §4.2.2), and a second run would show no 304.
    fields["Cache-Control"] = "no-cache"
    fields["Accept-Ranges"] = "bytes"
    let tags = request.fields["if-none-match"]
    let date = request.fields["if-modified-since"]
    // With its quotes, a tag is not part of another. A date must equal Last-Modified exactly, as in nginx.
    if tags.map({ $0 == "*" || $0.contains(file.entityTag) }) ?? (date == lastModified) {
      status = 304
      // The length that a 200 would have had: another number is forbidden (RFC 9110 §8.6).
      fields["Content-Length"] = String(file.size)
      return
    }
    fields["Content-Type"] = "application/octet-stream"
    if request.method == "HEAD" {
      fields["Content-Length"] = String(file.size)
      return
    }
    let isSame = request.fields["if-range"].map { $0 == file.entityTag || $0 == lastModified } ?? true
    let wanted = isSame ? request.fields["range"] : nil
    switch RangeSelection(field: wanted, size: file.size) {
    case .whole: body = Body(content: file.content, range: 0..<file.size)
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

  private static let reasons = [
    200: "OK", 206: "Partial Content", 304: "Not Modified", 404: "Not Found", 405: "Method Not Allowed",
    416: "Range Not Satisfiable",
  ]

  var head: [UInt8] {
    let fields = ["Content-Length": String(body?.range.count ?? 0)].merging(fields) { $1 }
    let lines = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }
    return Array("HTTP/1.1 \(status) \(Self.reasons[status] ?? "")\r\n\(lines.joined())\r\n".utf8)
  }
}
