package import DownloadModel

/// What a fake origin says to one request: `FakeTransport` plays it, and a test can give it to a target by
/// hand.
package struct FakeAnswer: Sendable {
  package enum End: Sendable {
    case finished(Proof)
    case failed(DownloadError)
    /// Nothing more comes, until the task is cancelled.
    case never
  }

  /// nil fails before the head.
  package var head: ResponseHead?
  package var chunks: [[UInt8]]
  package var end: End
  /// For the receipt: the address that a redirect of the whole file led to.
  package var effectiveURL: String?
  /// Holds the transfer before its head until it opens.
  package var gate: Gate?

  package init(head: ResponseHead?, chunks: [[UInt8]] = [], end: End = .finished(.length)) {
    self.head = head
    self.chunks = chunks
    self.end = end
  }

  package init(_ status: Int, _ fields: KeyValuePairs<String, String> = [:], body: [UInt8] = []) {
    self.init(head: ResponseHead(status: status, fields: fields), chunks: body.isEmpty ? [] : [body])
  }

  /// 200 with the whole body in one piece, and its length.
  package static func ok(
    _ body: [UInt8], etag: String? = "\"v1\"", disposition: String? = nil
  ) -> FakeAnswer {
    FakeAnswer(head: head(200, body.count, etag, disposition), chunks: body.isEmpty ? [] : [body])
  }

  /// 206 with the bytes from `start` on, of a file of which `body` is the whole.
  package static func rest(
    _ body: [UInt8], from start: Int, etag: String? = "\"v1\"", disposition: String? = nil
  ) -> FakeAnswer {
    let range = "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)\r\n"
    return FakeAnswer(
      head: head(206, body.count - start, etag, disposition, range), chunks: [Array(body[start...])])
  }

  /// As a well-behaved origin serves a file: 304 to the same tag, 206 or 416 to a range (RFC 9110 §13, §14),
  /// and 200 without one or when the request's If-Range names another tag.
  package static func file(
    _ body: [UInt8], etag: String? = "\"v1\"", disposition: String? = nil, to request: TransferRequest
  ) -> FakeAnswer {
    if let etag, request.headerLines.contains("If-None-Match: \(etag)") {
      return FakeAnswer(304, ["ETag": etag])
    }
    let isSame = request.headerLines.allSatisfy {
      !$0.hasPrefix("If-Range") || $0 == "If-Range: \(etag ?? "")"
    }
    guard let start = request.rangeStart.map(Int.init), isSame else {
      return ok(body, etag: etag, disposition: disposition)
    }
    return start < body.count
      ? rest(body, from: start, etag: etag, disposition: disposition)
      : FakeAnswer(416, ["Content-Range": "bytes */\(body.count)"])
  }

  /// Fails before the head.
  package static func failure(_ error: DownloadError) -> FakeAnswer {
    FakeAnswer(head: nil, end: .failed(error))
  }

  /// A transfer that only a cancellation ends.
  package static let hanging = FakeAnswer(head: nil, end: .never)

  /// The same answer with no more than so many bytes of its body.
  /// - Parameter error: with which it breaks off there; nil ends it as if that were all.
  package func cut(after count: Int, error: DownloadError? = nil) -> FakeAnswer {
    var copy = self
    copy.chunks = [Array(body.prefix(count))]
    if let error { copy.end = .failed(error) }
    return copy
  }

  /// The same answer, held before its head.
  package func held(by gate: Gate) -> FakeAnswer {
    var copy = self
    copy.gate = gate
    return copy
  }

  package var body: [UInt8] { chunks.reduce(into: []) { $0 += $1 } }

  /// Gives it to a target as a transport would, whatever its end.
  /// - Returns: what was asked, and what a transport would report.
  @discardableResult
  package func give(to target: any SegmentTarget) throws(DownloadError) -> (TransferRequest, TransferReceipt) {
    guard let request = try target.nextTransfer() else { throw .nothingToAsk }
    return (request, try deliver(to: target))
  }

  /// Gives it to a sink, to the last byte, whatever its end.
  /// - Parameter check: called before each piece.
  package func deliver(
    to sink: any ByteSink, check: () throws(DownloadError) -> Void = {}
  ) throws(DownloadError) -> TransferReceipt {
    var received: Int64 = 0
    if let head, try ![.drain, .enough].contains(sink.accept(head)) {
      for chunk in chunks {
        try check()
        let demand = try sink.write(chunk)
        received += Int64(chunk.count)
        if demand == .enough { break }
      }
    }
    var proof = Proof.length
    if case .finished(let own) = end { proof = own }
    return TransferReceipt(
      status: head?.status ?? 0, bodyBytes: received, proof: proof, effectiveURL: effectiveURL)
  }

  private static func head(
    _ status: Int, _ length: Int, _ etag: String?, _ disposition: String?, _ more: String = ""
  ) -> ResponseHead {
    let tag = etag.map { "ETag: \($0)\r\n" } ?? ""
    let named = disposition.map { "Content-Disposition: \($0)\r\n" } ?? ""
    return ResponseHead(
      status: status, block: Array("Content-Length: \(length)\r\n\(tag)\(named)\(more)".utf8))
  }
}

extension ByteSink {
  /// Gives it bytes of a test's own.
  @discardableResult
  package func write(_ bytes: [UInt8]) throws(DownloadError) -> SinkDemand {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(DownloadError) in try self.write(buffer) }
    }
    return try result.get()
  }
}

extension DownloadError {
  /// A target that lacks nothing was asked for its next request.
  package static let nothingToAsk = DownloadError(.transport, activity: "asking")
  /// A connection that was lost while a body came, and may come back.
  package static let lost = DownloadError(.reset, activity: "receiving", isTransient: true)
}
