import DownloadModel
import Glibc

/// Points in time for people and programs (RFC 3339, ISO 8601).
enum TimeText {
  /// `2026-11-20T18:22:03.123Z`
  static func utc(milliseconds: Int64) -> String {
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    return tm.text(seconds, "%04Y-%m-%dT%H:%M:%S") + ".\(String(1000 + rest).dropFirst())Z"
  }

  /// `2026-11-20 18:22`, in this user's time zone.
  static func local(seconds: Int64) -> String { tm.text(seconds, "%04Y-%m-%d %H:%M", isLocal: true) }
}
