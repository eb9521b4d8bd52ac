import CCurl
import DownloadModel
import Glibc

/// Builds the head of the final response from heads as they arrive, in bounded memory (HTTP rule 26).
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

  /// The last one; of status 0 before the first.
  private(set) var head = Self.none
  private var isFinal = false
  /// Bytes of the heads since the last `reset`.
  private(set) var size = 0

  private static let none = ResponseHead(status: 0, block: [], starts: [])

  mutating func reset() {
    expectAnother()
    size = 0
  }

  /// Skips the current answer, which another may follow.
  mutating func expectAnother() {
    head = Self.none
    isFinal = false
  }

  /// - Parameter bytes: the lines of one head with their ends, from the status line to the empty line (`dlm_head`), or
  ///   those of trailers.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Step {
    size += bytes.count
    if size > Self.limit { return .flood }
    if isFinal { return .more }  // trailers (RFC 9110 §6.5) are ignored
    head = Self.head(of: bytes)
    // After the trailers of a skipped answer, the status is zero.
    if head.status < 200 { return .more }
    if [301, 302, 303, 307, 308].contains(head.status), head["location"]?.isEmpty == false { return .redirect }
    isFinal = true
    return .final
  }

  /// The head that stands for a file server's replies.
  mutating func take(_ head: ResponseHead) {
    self.head = head
    isFinal = true
  }

  private static func head(of bytes: UnsafeRawBufferPointer) -> ResponseHead {
    var status = 0
    var block: [UInt8] = []
    var starts: [Int] = []
    block.reserveCapacity(bytes.count)
    starts.reserveCapacity(16)
    var rest = bytes
    while let first = rest.first, first != .carriageReturn, first != .newline {
      let line = Self.firstLine(of: rest)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(line.count))
      // Also behind the trailers of a skipped answer, which end without an empty line.
      if isStatusLine(line) {
        let code = line.drop { $0 != .blank }.dropFirst().prefix(3)
        status = Int(UInt16(String(decoding: code, as: UTF8.self)) ?? 0)
        block.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
        continue
      }
      if OptionalWhiteSpace.contains(first), !starts.isEmpty {
        // It continues the last field (RFC 9112 §5.2).
        while let last = block.last, last == .carriageReturn || last == .newline { block.removeLast() }
      } else {
        starts.append(block.count)
      }
      block.append(contentsOf: line)
    }
    return ResponseHead(status: status, block: block, starts: starts)
  }

  // In C, because they run for each header line, and searches of sequences are ten times as slow.

  private static func firstLine(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let start = bytes.baseAddress, let end = memchr(start, 0x0A, bytes.count) else { return bytes }
    return UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start + 1)
  }

  private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
    guard line.count >= 5, line[4] == .slash, let start = line.baseAddress else { return false }
    return strncasecmp(start.assumingMemoryBound(to: CChar.self), "HTTP/", 5) == 0
  }
}
