public import DownloadModel

/// What `FakeTransport` does with one transfer.
public struct FakeAnswer: Sendable {
  public enum End: Sendable {
    case finished(TransferReceipt.Framing)
    case failed(DownloadError)
    /// Nothing more comes, until the task is cancelled.
    case never
  }

  /// nil fails before the head.
  public var head: ResponseHead?
  public var chunks: [[UInt8]]
  public var end: End
  /// Holds the transfer before its head until it opens.
  public var gate: Gate?

  public init(head: ResponseHead?, chunks: [[UInt8]] = [], end: End = .finished(.length), gate: Gate? = nil) {
    self.head = head
    self.chunks = chunks
    self.end = end
    self.gate = gate
  }

  /// 200 with the whole body in pieces of `chunk` bytes.
  public static func ok(_ body: [UInt8], etag: String? = "\"v1\"", chunk: Int = 16_384) -> FakeAnswer {
    FakeAnswer(head: head(200, length: body.count, etag), chunks: pieces(body[...], chunk))
  }

  /// As an origin with ranges serves it: 206 from `rangeStart` on, 200 without one or when the request's If-Range
  /// names another tag.
  public static func file(_ body: [UInt8], etag: String = "\"v1\"", to request: TransferRequest) -> FakeAnswer
  {
    let condition = request.headerLines.first { $0.lowercased().hasPrefix("if-range:") }
    guard let start = request.rangeStart.map(Int.init), start < body.count,
      condition?.hasSuffix(etag) ?? true
    else { return ok(body, etag: etag) }
    let range = "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)\r\n"
    return FakeAnswer(
      head: head(206, length: body.count - start, etag, range), chunks: pieces(body[start...], 16_384))
  }

  /// 200 that breaks off with `error` after some bytes of the body.
  public static func cut(
    _ body: [UInt8], after count: Int, error: DownloadError, etag: String? = "\"v1\""
  ) -> FakeAnswer {
    FakeAnswer(
      head: head(200, length: body.count, etag), chunks: pieces(body.prefix(count), 16_384),
      end: .failed(error))
  }

  /// Fails before the head.
  public static func failure(_ error: DownloadError) -> FakeAnswer {
    FakeAnswer(head: nil, end: .failed(error))
  }

  /// A status without a body.
  public static func status(_ status: Int, headers: String = "") -> FakeAnswer {
    FakeAnswer(head: head(status, length: 0, nil, headers))
  }

  /// A transfer that only a cancellation ends.
  public static let hanging = FakeAnswer(head: nil, end: .never)

  /// The same answer, held before its head.
  public func held(by gate: Gate) -> FakeAnswer {
    var copy = self
    copy.gate = gate
    return copy
  }

  private static func head(_ status: Int, length: Int, _ etag: String?, _ more: String = "") -> ResponseHead {
    let tag = etag.map { "ETag: \($0)\r\n" } ?? ""
    return ResponseHead(status: status, block: Array("Content-Length: \(length)\r\n\(tag)\(more)".utf8))
  }

  private static func pieces(_ body: ArraySlice<UInt8>, _ size: Int) -> [[UInt8]] {
    stride(from: body.startIndex, to: body.endIndex, by: max(1, size)).map {
      Array(body[$0..<min($0 + max(1, size), body.endIndex)])
    }
  }
}
