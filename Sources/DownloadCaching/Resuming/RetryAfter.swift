/// Retry-After (RFC 9110 §10.2.3): seconds, or a date.
enum RetryAfter {
  /// How long the server asks to be left alone; nil if the field is neither.
  /// - Parameter now: seconds since 1970.
  static func duration(_ field: String, now: Int64) -> Duration? {
    if !field.isEmpty, field.utf8.count <= 9, field.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      return Int64(field).map { .seconds($0) }
    }
    return HTTPDate(field).map { .seconds(max(0, $0.seconds - now)) }
  }
}
