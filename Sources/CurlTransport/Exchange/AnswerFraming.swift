import DownloadModel

/// How the end of an answer's body is recognised (RFC 9112 §6.3).
struct AnswerFraming {
  let status: Int
  let length: Int64?
  /// A body without a length and without chunks ends with the connection, so a truncated one looks complete. libcurl
  /// 7.88 reports a reset HTTP/2 stream as success, so there the end proves nothing, either.
  let proof: Proof

  /// - Throws: `.badResponse` if the head gives an invalid length: a guess might accept half a file as complete.
  init(_ head: ResponseHead) throws(DownloadError) {
    status = head.status
    if status == 204 || status == 304 {
      length = 0
      proof = .framing
    } else if let coding = head["transfer-encoding"] {
      // Content-Length is ignored beside it.
      length = nil
      proof = coding.lowercased().hasSuffix("chunked") ? .framing : .nothing
    } else {
      length = head.contentLength
      proof = length == nil ? .nothing : .length
      if length == nil, let claim = head["content-length"] {
        throw DownloadError(.badResponse, "its Content-Length is \"\(claim.prefix(80))\"", "reading the answer")
      }
      if let length, length > ResponseHead.longestFile {
        throw DownloadError(
          .badResponse, "it claims \(length) bytes, and no file is that long", "reading the answer")
      }
    }
  }

  /// Without a length, an FTP server's last reply says that all of the file was sent (226, RFC 959 §5.4).
  init(ofFileServer head: ResponseHead) {
    status = head.status
    length = head.status == 304 ? 0 : head.contentLength
    proof = length == nil ? .framing : .length
  }

  /// - Throws: `.shortBody` or `.longBody` if the number of bytes differs from the announced length.
  func check(received: Int64) throws(DownloadError) {
    guard let length, length != received else { return }
    let code: DownloadError.Code = received < length ? .shortBody : .longBody
    throw DownloadError(code, "\(received) of \(length) bytes arrived", "receiving", isTransient: true)
  }
}
