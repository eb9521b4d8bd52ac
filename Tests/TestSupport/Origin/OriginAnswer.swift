/// What `FaultyOrigin` does with one request.
public indirect enum OriginAnswer: Sendable {
  /// Serves a file, with conditions and ranges (RFC 9110 §13, §14), and with the faults of its options.
  case file([UInt8], FileOptions = FileOptions())
  /// A status with a body, such as 404, 429, 503.
  /// - Parameter headers: further lines, such as `Retry-After: 2`.
  case status(Int, body: [UInt8] = [], headers: [String] = [])
  /// 301, 302, 303, 307 or 308 to a `Location` as written: relative, absolute, back to itself, or `file:///etc/passwd`.
  case redirect(Int, to: String)
  /// One answer or the other, by the request's target and its header lines (lower-cased names).
  case either(
    _ isMet: @Sendable (_ target: String, _ headers: [String: String]) -> Bool, OriginAnswer,
    else: OriginAnswer)
  /// These bytes in place of an answer, then FIN: garbage, or a head that breaks off.
  case raw([UInt8])
  /// These bytes in place of an answer, and then nothing more: the connection closes when the gate opens, the client goes
  /// or the origin stops.
  case unfinished([UInt8], until: Gate? = nil)
  /// A good status line and then header lines without end, until the client goes.
  case headerFlood
  /// The request is read and never answered; the connection closes when the gate opens, the client goes or the
  /// origin stops.
  case silence(until: Gate? = nil)
  /// Serves a file, but not a byte of the answer before the gate opens.
  case late([UInt8], until: Gate)
  /// FIN before the head.
  case close
  /// RST before the head.
  case reset
}
