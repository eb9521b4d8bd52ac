import DownloadModel
import Glibc

/// Builds the head of the final response from header lines as they arrive, in bounded memory (HTTP rule 26).
struct HeadAssembler {
  /// Bytes. The largest heads seen in practice are near 48 KiB.
  static let limit = 256 * 1024

  enum Step: Equatable {
    case more
    case final
    /// The head of a redirect (RFC 9110 §15.4).
    case redirect
    case flood
  }

  private var status = 0
  private var block: [UInt8] = []
  private var starts: [Int] = []
  private var isFinal = false
  private(set) var setsCookie = false
  /// Bytes of the heads since the last `reset`.
  private(set) var size = 0

  mutating func reset() {
    expectAnother()
    size = 0
  }

  /// Skips the answer, which another may follow.
  mutating func expectAnother() {
    (status, isFinal) = (0, false)
    clear()
  }

  private mutating func clear() {
    block.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
    setsCookie = false
  }

  /// Takes one line as libcurl delivers it, with its line end.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
    size += line.count
    if size > Self.limit { return .flood }
    if isFinal { return .more }  // trailers (RFC 9110 §6.5) are ignored
    if Self.begins(line, with: "HTTP/") {
      let code = line.drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix(3)
      status = Int(UInt16(String(decoding: code, as: UTF8.self)) ?? 0)
      clear()
      return .more
    }
    if !line.isEmpty, line[0] != UInt8(ascii: "\r"), line[0] != UInt8(ascii: "\n") {
      starts.append(block.count)
      if Self.begins(line, with: "set-cookie:") { setsCookie = true }
      block.append(contentsOf: line)
      return .more
    }
    // The head ends. The status is zero with trailers of an answer that was skipped.
    if status < 200 { return .more }
    if [301, 302, 303, 307, 308].contains(status), head["location"]?.isEmpty == false { return .redirect }
    isFinal = true
    return .final
  }

  /// By C, since each line of each head comes here, and a comparison of sequences is ten times as slow.
  private static func begins(_ line: UnsafeRawBufferPointer, with word: StaticString) -> Bool {
    guard line.count >= word.utf8CodeUnitCount, let start = line.baseAddress,
      (line[0] ^ word.utf8Start[0]) & 0xDF == 0
    else { return false }
    let wanted = UnsafeRawPointer(word.utf8Start).assumingMemoryBound(to: CChar.self)
    return strncasecmp(start.assumingMemoryBound(to: CChar.self), wanted, word.utf8CodeUnitCount) == 0
  }

  var head: ResponseHead { ResponseHead(status: status, block: block, starts: starts) }
}

/// How the end of an answer's body is known (RFC 9112 §6.3).
struct AnswerFraming {
  let status: Int
  let length: Int64?
  /// A body without length and without chunks ends with the connection, so one that was cut short looks the same.
  /// libcurl 7.88 reports a reset HTTP/2 stream as success, so there the end proves nothing either.
  let proof: Proof

  /// - Throws: `.badResponse` if the head gives an invalid length: guessing might take half a file for the whole.
  init(_ head: ResponseHead) throws(DownloadError) {
    status = head.status
    if status == 204 || status == 304 {
      (length, proof) = (0, .framing)
    } else if let coding = head["transfer-encoding"] {
      // Content-Length means nothing beside it.
      (length, proof) = (nil, coding.lowercased().hasSuffix("chunked") ? .framing : .nothing)
    } else {
      length = head.contentLength
      proof = length == nil ? .nothing : .length
      guard length != nil || head["content-length"] == nil else {
        let detail = "its Content-Length is malformed or contradicts itself"
        throw DownloadError(.badResponse, detail, "reading the answer")
      }
    }
  }

  /// - Throws: `.shortBody` or `.longBody` if another number of bytes came than was announced.
  func check(received: Int64) throws(DownloadError) {
    guard let length, length != received else { return }
    let code: DownloadError.Code = received < length ? .shortBody : .longBody
    throw DownloadError(code, "\(received) of \(length) bytes arrived", "receiving", isTransient: true)
  }
}
