import DownloadCaching
import DownloadModel
import TerminalProgress

/// The words of the front door for the displays.
enum DisplayWords {
  static let all = ProgressMessages(
    failure: { FailureMessages($0).line }, cause: { FailureMessages($0).cause },
    rejection: { RejectionMessages($0).line }, timestamp: { TimeText.utc(milliseconds: WallClock.milliseconds()) })
}
