import DownloadModel

/// From header lines as they arrive to the head of the final response: a state machine over bytes, in bounded
/// memory (http.md 26).
struct HeadAssembler {
  /// Room for all the header lines of one response. The largest seen in the wild are near 48 KiB.
  static let limit = 256 * 1024

  enum Step: Equatable {
    case more
    /// The head of the response whose body follows.
    case final
    /// More than `limit` bytes of header.
    case flood
  }

  private var status = 0
  private var block: [UInt8] = []
  private var isFinal = false
  /// The last head seen sent libcurl elsewhere.
  private(set) var isRedirect = false
  private var size = 0

  mutating func reset() {
    status = 0
    size = 0
    isFinal = false
    isRedirect = false
    block.removeAll(keepingCapacity: true)
  }

  /// Takes one line as libcurl delivers it, with its line end.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
    if isFinal { return .more }  // trailers (RFC 9110 §6.5): not for a downloader
    size += line.count
    if size > Self.limit { return .flood }
    if line.starts(with: "HTTP/".utf8) {
      status = Self.status(of: line)
      isRedirect = false
      block.removeAll(keepingCapacity: true)
      return .more
    }
    if let first = line.first, first != UInt8(ascii: "\r"), first != UInt8(ascii: "\n") {
      block.append(contentsOf: line)
      return .more
    }
    if (100..<200).contains(status) { return .more }
    if [301, 302, 303, 307, 308].contains(status), head["location"] != nil {
      isRedirect = true  // libcurl follows it and drops its body
      return .more
    }
    isFinal = true
    return .final
  }

  var head: ResponseHead { ResponseHead(status: status, block: block) }

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
