/// A number of seconds in a header field (RFC 9111 §1.2.2).
package enum DeltaSeconds {
  package static let largest: Int64 = 1 << 31

  /// - Returns: `nil` for anything but digits.
  package static func read(_ digits: some Collection<UInt8>) -> Int64? {
    guard !digits.isEmpty else { return nil }
    var number: Int64 = 0
    for digit in digits {
      guard digit.isDigit else { return nil }
      number = min(largest, number * 10 + Int64(digit - 0x30))
    }
    return number
  }
}
