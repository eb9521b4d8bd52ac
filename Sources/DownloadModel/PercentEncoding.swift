/// Percent-encoding (RFC 3986 §2.1), decoded once.
public enum PercentEncoding {
  /// The octets that a text stands for; a `%` without two hex digits stays as it is.
  /// - Returns: nil if nothing is encoded.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return nil }
    return octets(Array(text.utf8), strict: false)
  }

  /// The octets of an RFC 8187 value; nil if a `%` lacks its two hex digits.
  public static func decodeStrictly(_ text: some StringProtocol) -> [UInt8]? {
    decodeStrictly(text.utf8)
  }

  /// The same of octets: the host of an address (RFC 3986 §3.2.2).
  static func decodeStrictly(_ text: some Collection<UInt8>) -> [UInt8]? {
    octets(Array(text), strict: true)
  }

  private static func octets(_ bytes: [UInt8], strict: Bool) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%") {
        if index + 2 < bytes.count, let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2]) {
          decoded.append(high << 4 | low)
          index += 3
          continue
        }
        if strict { return nil }
      }
      decoded.append(bytes[index])
      index += 1
    }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
