import FoundationEssentials

/// Percent-encoding (RFC 3986 §2.1); decodes one level.
package enum PercentEncoding {
  /// Encodes all but unreserved characters (RFC 3986 §2.3) and the `kept` ones.
  package static func encode(_ text: some StringProtocol, keeping kept: String = "") -> String {
    let plain = "-._~\(kept)".utf8
    return String(utf8: encoded(text.utf8) { !$0.isLetterOrDigit && !plain.contains($0) })
  }

  package static func encoded(_ text: some Sequence<UInt8>, where mustEncode: (UInt8) -> Bool) -> [UInt8] {
    text.flatMap { mustEncode($0) ? Array("%\([$0].hexadecimal.uppercased())".utf8) : [$0] }
  }

  /// The octets that a text encodes (RFC 3986 §2.1), with an incomplete `%` unchanged.
  package static func decode(_ text: some StringProtocol) -> [UInt8] {
    octets(Array(text.utf8)[...], isStrict: false) ?? []
  }

  /// - Returns: `nil` if `isStrict`, as for RFC 8187, and a `%` lacks its two hex digits.
  package static func octets(_ text: ArraySlice<UInt8>, isStrict: Bool) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var rest = text
    while let byte = rest.popFirst() {
      if byte == .percent {
        if rest.count >= 2, let high = digit(rest[rest.startIndex]), let low = digit(rest[rest.startIndex + 1]) {
          decoded.append(high << 4 | low)
          rest.removeFirst(2)
          continue
        }
        if isStrict { return nil }
      }
      decoded.append(byte)
    }
    return decoded
  }

  /// The value of a hexadecimal digit of either case.
  static func digit(_ byte: UInt8) -> UInt8? {
    if byte.isDigit { return byte - UInt8(ascii: "0") }
    let letter = byte | 0x20
    return (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(letter) ? letter - UInt8(ascii: "a") + 10 : nil
  }
}

package enum Base64 {
  package static func text(_ octets: [UInt8]) -> String { Data(octets).base64EncodedString() }

  /// Skips blanks and line ends. The padding of the last four characters may be missing, as many senders omit it.
  package static func octets(_ text: [UInt8]) -> [UInt8]? {
    let digits = text.filter { $0 > 0x20 && $0 != .equals }
    let filled = digits + Array(repeating: .equals, count: (4 - digits.count % 4) % 4)
    return Data(base64Encoded: Data(filled)).map(Array.init)
  }
}
