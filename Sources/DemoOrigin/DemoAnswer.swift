import DownloadModel

/// An answer of the origin: status, fields, and a range of a file.
struct DemoAnswer: Equatable {
  var status: Int
  var fields: [String: String]
  /// `nil` if no body follows the head.
  var body: Body?

  struct Body: Equatable {
    let file: DemoFile
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
    send(RangeSelection(field: isSame ? request.fields["range"] : nil, size: file.size), of: file)
  }

  private mutating func send(_ selection: RangeSelection, of file: DemoFile) {
    switch selection {
    case .whole: body = Body(file: file, range: 0..<file.size)
    case .part(let range):
      status = 206
      fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
      body = Body(file: file, range: range)
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
}
