import DownloadModel

@testable import DownloadCaching

/// What a server says to one request, and a way of saying it to a target as a transport would.
struct Answer: Sendable {
  var head: ResponseHead
  var chunks: [[UInt8]] = []
  var framing = TransferReceipt.Framing.length
  var redirectedTo: String?

  init(_ status: Int, _ fields: KeyValuePairs<String, String> = [:], body: [UInt8] = []) {
    head = ResponseHead(status: status, fields: fields)
    chunks = body.isEmpty ? [] : [body]
  }

  /// The whole file with its length.
  static func whole(_ body: [UInt8], etag: String? = "\"v1\"") -> Answer {
    var fields = "Content-Length: \(body.count)\r\n"
    if let etag { fields += "ETag: \(etag)\r\n" }
    var answer = Answer(200, body: body)
    answer.head = ResponseHead(status: 200, block: Array(fields.utf8))
    return answer
  }

  /// The bytes from `start` on, of a file of which `body` is the whole.
  static func rest(_ body: [UInt8], from start: Int, etag: String = "\"v1\"") -> Answer {
    Answer(
      206,
      [
        "Content-Range": "bytes \(start)-\(body.count - 1)/\(body.count)",
        "Content-Length": "\(body.count - start)", "ETag": etag,
      ],
      body: Array(body[start...]))
  }

  var body: [UInt8] { chunks.reduce(into: []) { $0 += $1 } }

  /// Breaks off after so many bytes of the body, as a lost connection does.
  func cut(after count: Int) -> Answer {
    var copy = self
    copy.chunks = [Array(body.prefix(count))]
    return copy
  }

  /// - Returns: what was asked, and what a transport would report.
  @discardableResult
  func give(to target: any DownloadTarget) throws(DownloadError) -> (TransferRequest, TransferReceipt) {
    let request = try target.nextTransfer()
    var received: Int64 = 0
    if try target.accept(head) != .drain {
      for chunk in chunks {
        try Self.write(chunk, to: target)
        received += Int64(chunk.count)
      }
    }
    return (
      request,
      TransferReceipt(
        status: head.status, bodyBytes: received, framing: framing, redirectedTo: redirectedTo)
    )
  }

  static func write(_ bytes: [UInt8], to target: any DownloadTarget) throws(DownloadError) {
    let result = bytes.withUnsafeBytes { buffer -> Result<Void, DownloadError> in
      Result { () throws(DownloadError) in try target.write(buffer) }
    }
    try result.get()
  }
}

extension DownloadError {
  static let lost = DownloadError(.reset, activity: "receiving", isPassing: true)
}

/// Bytes that differ from place to place, so that a shifted or repeated part is noticed: a block of a prime
/// length again and again, which is made much faster than a formula for each byte.
func pattern(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
  let block = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ seed }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + block.count)
  while bytes.count < count { bytes += block }
  return Array(bytes.prefix(count))
}
