import CCurl
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
  /// Bytes of the heads since the last `reset`.
  private(set) var size = 0

  mutating func reset() {
    expectAnother()
    size = 0
  }

  /// Skips the current answer, which another may follow.
  mutating func expectAnother() {
    status = 0
    isFinal = false
    clear()
  }

  private mutating func clear() {
    block.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
  }

  /// Takes one line as libcurl delivers it, with its line end.
  mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
    size += line.count
    if size > Self.limit { return .flood }
    if isFinal { return .more }  // trailers (RFC 9110 §6.5) are ignored
    if Self.isStatusLine(line) {
      let code = line.drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix(3)
      status = Int(UInt16(String(decoding: code, as: UTF8.self)) ?? 0)
      clear()
      return .more
    }
    if !line.isEmpty, line[0] != UInt8(ascii: "\r"), line[0] != UInt8(ascii: "\n") {
      if OptionalWhiteSpace.contains(line[0]), !starts.isEmpty {
        unfold()
      } else {
        starts.append(block.count)
      }
      block.append(contentsOf: line)
      return .more
    }
    // The end of the head. After the trailers of a skipped answer, the status is zero.
    if status < 200 { return .more }
    if [301, 302, 303, 307, 308].contains(status), head["location"]?.isEmpty == false { return .redirect }
    isFinal = true
    return .final
  }

  /// The next line continues the last field (RFC 9112 §5.2).
  private mutating func unfold() {
    while let last = block.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") { block.removeLast() }
  }

  /// In C, because it runs for each header line, and a comparison of sequences is ten times as slow.
  private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
    guard line.count >= 5, line[4] == UInt8(ascii: "/"), let start = line.baseAddress else { return false }
    return strncasecmp(start.assumingMemoryBound(to: CChar.self), "HTTP/", 5) == 0
  }

  var head: ResponseHead { ResponseHead(status: status, block: block, starts: starts) }
}
