import DownloadModel

/// What a file server without header fields says of a file, as the head of an HTTP answer, so that it is judged by the
/// same rules. Size and time together are a weak entity tag: a file of the same tag is probably the same version, and
/// only equal bytes prove that a part belongs to it (HTTP rule 34).
struct FileServerAnswer: Equatable {
  /// In bytes; `nil` if the server does not tell.
  var size: Int64?
  /// Seconds since 1970; `nil` if the server does not tell.
  var modified: Int64?
  /// The offset of the first byte, if the server starts there as requested; `nil` if it sends the whole file.
  var start: Int64?
  var contentType: String?

  private var tag: String? {
    guard let size, let modified else { return nil }
    return "W/\"\(String(size, radix: 16))-\(String(modified, radix: 16))\""
  }

  /// Whether the file is the version that a conditional request names.
  func isUnchanged(_ headerLines: [String]) -> Bool {
    guard let tag else { return false }
    return headerLines.contains { $0.hasPrefix(Self.condition) && $0.contains(tag) }
  }

  static let condition = "If-None-Match: "

  /// - Parameter isUnchanged: for a conditional request whose version the server still has.
  func head(isUnchanged: Bool = false) -> ResponseHead {
    var lines = [
      tag.map { "ETag: \($0)" }, modified.map { "Last-Modified: \(HTTPDate.text($0))" },
      size == nil ? nil : "Accept-Ranges: bytes", contentType.map { "Content-Type: \($0)" },
    ]
    var status = isUnchanged ? 304 : 200
    switch (start, size) {
    case (nil, nil): break
    case (nil, let size?): lines.append("Content-Length: \(size)")
    case (let start?, let size?) where start < size:
      status = 206
      lines.append("Content-Length: \(size - start)")
      lines.append("Content-Range: bytes \(start)-\(size - 1)/\(size)")
    // Without the size, nothing shows that the file still has the bytes before the start.
    case (_?, let size):
      status = 416
      lines.append("Content-Range: bytes */\(size.map { "\($0)" } ?? "*")")
    }
    return ResponseHead(status: status, lines: lines.compactMap(\.self))
  }
}
