import FileReceiving

struct RunStart: Equatable {
  /// Seconds since 1970, by the clock that stamps rows.
  var seconds: Int64
  /// Nanoseconds since 1970, by the clock that stamps files.
  var stamp: Int64

  /// Whether a file was requested and written after the start. One time is not enough: a copy is younger than its
  /// source's request, and a file may have its server's time (`--remote-time`).
  func isBefore(_ row: CacheRow) -> Bool { row.fetchedAt >= seconds && row.identity.modified > stamp }
}
