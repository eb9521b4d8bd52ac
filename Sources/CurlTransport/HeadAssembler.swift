import DownloadModel

/// Builds the head of the final response from header lines as they arrive: a state machine over bytes, in bounded
/// memory (HTTP rule 26).
struct HeadAssembler {
  /// Limit for all header lines of one response. The largest seen in practice are near 48 KiB.
  static let limit = 256 * 1024

  enum Step: Equatable {
    case more
    /// The head of the response whose body follows.
    case final
    /// The head of a redirect (RFC 9110 §15.4).
    case redirect
    /// More than `limit` bytes of header.
    case flood
  }

  private var status = 0
  private var block: [UInt8] = []
  private var starts: [Int] = []
  private var isFinal = false
  /// Whether the last head sets a cookie.
  private(set) var setsCookie = false
  /// Bytes of the heads since the last `reset`.
  private(set) var size = 0

  mutating func reset() {
    status = 0
    size = 0
    isFinal = false
    clear()
  }

  /// The answer is skipped: another may follow it.
  mutating func expectAnother() {
    status = 0
    isFinal = false
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
    if Self.isStatusLine(line) {
      status = Self.status(of: line)
      clear()
      return .more
    }
    if !line.isEmpty, line[0] != UInt8(ascii: "\r"), line[0] != UInt8(ascii: "\n") {
      starts.append(block.count)
      if line[0] | 0x20 == UInt8(ascii: "s"), Self.isSetCookie(line) { setsCookie = true }
      block.append(contentsOf: line)
      return .more
    }
    return end()
  }

  /// Handles the empty line after a head.
  private mutating func end() -> Step {
    switch status {
    case 100..<200: return .more
    case 0: return .more  // trailers of an answer that was skipped
    case 301, 302, 303, 307, 308:
      if head["location"]?.isEmpty == false { return .redirect }
    default: break
    }
    isFinal = true
    return .final
  }

  /// Compares by hand, because each line of each head comes here and the generic comparison of sequences is ten times
  /// as slow.
  private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
    line.count >= 5 && line[0] == UInt8(ascii: "H") && line[1] == UInt8(ascii: "T")
      && line[2] == UInt8(ascii: "T")
      && line[3] == UInt8(ascii: "P") && line[4] == UInt8(ascii: "/")
  }

  private static func isSetCookie(_ line: UnsafeRawBufferPointer) -> Bool {
    let name: StaticString = "set-cookie:"
    guard line.count >= name.utf8CodeUnitCount else { return false }
    return (0..<name.utf8CodeUnitCount).allSatisfy { index in
      line[index] | (line[index] >= 0x41 && line[index] <= 0x5A ? 0x20 : 0) == name.utf8Start[index]
    }
  }

  var head: ResponseHead { ResponseHead(status: status, block: block, starts: starts) }

  private static func status(of line: UnsafeRawBufferPointer) -> Int {
    guard let blank = line.firstIndex(of: UInt8(ascii: " ")) else { return 0 }
    var number = 0
    for byte in line[(blank + 1)...].prefix(3) {
      guard byte >= 0x30, byte <= 0x39 else { return 0 }
      number = number * 10 + Int(byte - 0x30)
    }
    return number
  }
}

/// How the end of an answer's body is known (RFC 9112 §6.3).
struct AnswerFraming {
  let status: Int
  /// The length of the body; nil where it is not known beforehand.
  let length: Int64?
  private let hasBody: Bool
  /// The protocol marks the end, or there is no body.
  private let isMarked: Bool

  /// - Throws: `.badResponse` if the head gives an invalid length: guessing might take half a file for the whole.
  init(_ head: ResponseHead) throws(DownloadError) {
    status = head.status
    hasBody = status != 204 && status != 304
    let coding = head["transfer-encoding"]
    // Content-Length means nothing beside Transfer-Encoding.
    length = hasBody && coding == nil ? head.contentLength : nil
    if hasBody, coding == nil, length == nil, head["content-length"] != nil {
      throw DownloadError(
        .badResponse, cause: .detail("its Content-Length is malformed or contradicts itself"),
        activity: "reading the answer")
    }
    isMarked = !hasBody || coding?.lowercased().hasSuffix("chunked") == true
  }

  /// The length of the body that follows the head; nil if it is not known.
  var expectedLength: Int64? { hasBody ? length : 0 }

  /// A body without length and without chunks ends with the connection, so one that was cut short looks the same.
  /// libcurl 7.88 reports a reset HTTP/2 stream as success, so there the end proves nothing either.
  var proof: TransferReceipt.Framing { length != nil ? .length : isMarked ? .marked : .closed }

  /// - Throws: `.shortBody` or `.longBody` if another number of bytes came than was announced.
  func check(received: Int64) throws(DownloadError) {
    guard let length, length != received else { return }
    throw DownloadError(
      received < length ? .shortBody : .longBody,
      cause: .detail("\(received) of \(length) bytes arrived"), activity: "receiving", isTransient: true)
  }
}
