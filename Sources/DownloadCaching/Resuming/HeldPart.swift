import DownloadModel

/// What is known of the bytes that are already there.
struct HeldPart: Sendable, Equatable {
  /// Good bytes, from the start of the file.
  var length: Int64 = 0
  /// Of the answer that they came from.
  var validator = Validator()
  /// Length of the whole file in bytes, if that answer said it.
  var total: Int64?
  /// Its Content-Encoding, if it was not stored as the origin has it: ranges count encoded bytes.
  var encoding: String?
  /// Whether that was taken off: then no range of what the server sends is a range of these bytes.
  var isDecoded = false
  /// `EffectiveURL` of the resource that gave them, where redirects led to another one.
  var answeredBy: String?
}
