/// What `FaultyOrigin` does with one request.
package indirect enum OriginAnswer: Sendable {
  /// Serves a file, with conditions and ranges (RFC 9110 §13, §14), and with the faults of its options.
  case file([UInt8], FileOptions = FileOptions())
  /// A status with a body, such as 404, 429, 503.
  /// - Parameter headers: further lines, such as `Retry-After: 2`.
  case status(Int, body: [UInt8] = [], headers: [String] = [])
  /// 301, 302, 303, 307 or 308 to a `Location` as written: relative, absolute, back to itself, or
  /// `file:///etc/passwd`.
  case redirect(Int, to: String)
  /// One answer or the other, by the request's target and its header lines (lower-cased names).
  case either(
    _ isMet: @Sendable (_ target: String, _ headers: [String: String]) -> Bool, OriginAnswer,
    else: OriginAnswer)
  /// These bytes in place of an answer, then FIN: garbage, or a head that breaks off.
  case raw([UInt8])
  /// These bytes in place of an answer, and then nothing more: the connection closes when the gate opens, the
  /// client goes or the origin stops.
  case unfinished([UInt8], until: Gate? = nil)
  /// Pieces of an answer with a pause before each, then FIN: a head that arrives line by line.
  case pieces([String], every: Duration)
  /// A good status line and then header lines without end, until the client goes.
  case headerFlood
  /// The request is read and never answered; the connection closes when the gate opens, the client goes or
  /// the origin stops.
  case silence(until: Gate? = nil)
  /// Serves a file, but not a byte of the answer before the gate opens.
  case late([UInt8], until: Gate, FileOptions = FileOptions())
  /// FIN before the head.
  case close
  /// RST before the head.
  case reset

  /// Asks for a login by Basic (RFC 7617), whatever that is, before it answers so.
  package static func behindBasic(_ answer: OriginAnswer) -> OriginAnswer {
    .either(
      { $1["authorization"]?.hasPrefix("Basic ") == true }, answer,
      else: .status(401, headers: ["WWW-Authenticate: Basic realm=\"r\""]))
  }
}

/// How a file is described, framed, cut and lied about.
package struct FileOptions: Sendable {
  /// The Date field (RFC 9110 §6.6.1), which makes Last-Modified strong or weak and starts its freshness.
  package enum DateField: Sendable, Equatable {
    case now
    case text(String)
    case absent
  }

  /// What becomes of a `Range: bytes=…` that would be answered 206.
  package enum RangeConduct: Sendable, Equatable {
    case honoured
    /// 200 with the whole file.
    case ignored
    /// 206 that starts this many bytes later (or earlier) than asked, and says so.
    case shifted(by: Int)
    /// 206 that names this complete length: a wrong number, or `*`.
    case completeLength(String)
    /// 206 of at most so many bytes (RFC 9110 §14.2 allows fewer than asked), which names this complete
    /// length.
    case capped(at: Int, completeLength: String)
    /// 206 with another entity tag, and If-Range is not looked at.
    case changedETag(String)
    /// 206 without Content-Range.
    case unlabelled
    /// The range and its Content-Range, under status 200.
    case calledWhole
    /// 200 with the same validators as soon as If-Range is sent; 206 without it.
    case dislikesIfRange
  }

  /// How the body's length is told (RFC 9112 §6).
  package enum Framing: Sendable, Equatable {
    case contentLength
    /// A Content-Length of this text whatever the body's length: too little, too much, absurd.
    case declared(String)
    case chunked(size: Int)
    /// Neither: the closing connection is the end.
    case closeDelimited
  }

  /// How the body ends. Counts are bytes of this answer's body, not offsets in the file.
  package enum Ending: Sendable {
    case whole
    /// FIN after so many bytes. All of them in a chunked answer: only the last chunk is missing.
    case close(after: Int)
    /// RST after so many bytes have reached the client's side.
    case reset(after: Int)
    /// A pause after so many bytes, until the gate opens; without a gate until the client goes or the origin
    /// stops.
    case stall(after: Int, until: Gate? = nil)
    /// Pieces of so many bytes with a pause before each.
    case trickle(piece: Int, every: Duration)
  }

  /// As sent, with quotes and a possible `W/`.
  package var etag: String?
  package var lastModified: String?
  package var date: DateField
  /// As sent; it promises only, `ranges` decides.
  package var acceptRanges: String?
  package var ranges: RangeConduct
  /// Whether If-None-Match and If-Modified-Since (RFC 9110 §13.1) are looked at.
  package var revalidates: Bool
  package var framing: Framing
  package var ending: Ending
  /// Further lines: `Content-Encoding: gzip`, `Content-Disposition: …`, `Cache-Control: …`.
  package var headers: [String]

  package init(
    etag: String? = "\"v1\"", lastModified: String? = "Tue, 01 Jul 2025 10:00:00 GMT",
    date: DateField = .now, acceptRanges: String? = "bytes", ranges: RangeConduct = .honoured,
    revalidates: Bool = true, framing: Framing = .contentLength, ending: Ending = .whole,
    headers: [String] = []
  ) {
    self.etag = etag
    self.lastModified = lastModified
    self.date = date
    self.acceptRanges = acceptRanges
    self.ranges = ranges
    self.revalidates = revalidates
    self.framing = framing
    self.ending = ending
    self.headers = headers
  }
}
