/// Blanks and tabs, which may stand around the parts of a field's value (OWS, RFC 9110 §5.6.3).
public enum OptionalWhiteSpace {
  @inlinable
  public static func contains(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// The bytes without what stands around them.
  @inlinable
  public static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
    // By index, because removing bytes from a slice that shares its storage copies the storage.
    var (start, end) = (bytes.startIndex, bytes.endIndex)
    while start < end, contains(bytes[start]) { bytes.formIndex(after: &start) }
    while start < end {
      let last = bytes.index(before: end)
      guard contains(bytes[last]) else { break }
      end = last
    }
    return bytes[start..<end]
  }

  @inlinable
  public static func trimmed(_ text: Substring) -> Substring { Substring(trimmed(text.utf8)) }
}
