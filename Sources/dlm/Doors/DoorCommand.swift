import DownloadModel
import TerminalProgress

/// A line that another process sends to a run's door. Unknown fields are ignored.
struct DoorCommand: Decodable {
  /// Repeated in the answer.
  var id: Int?
  var verb: String
  var urls: [String]?
  /// The absolute path of a list.
  var list: String?
  /// For what is added, below the run's folder.
  var folder: String?
  /// The numbers of files.
  var files: [Int]?
  /// Arguments of `RateLimit`.
  var limits: [String]?
  var jobs: Int?
  var watch: Watch?
  /// The name of a `ScreenKey`.
  var key: String?

  /// What to send of the run's progress.
  struct Watch: Decodable {
    enum Style: String, Decodable { case json, plain, bars }

    /// `nil` for JSON lines.
    var style: Style?
    var columns: Int?
    var rows: Int?
    /// Environment variables that describe the terminal.
    var terminal: [String: String]?

    var size: TerminalSize {
      TerminalSize(columns: min(max(1, columns ?? 80), 1000), rows: min(max(1, rows ?? 24), 1000))
    }
  }

  private enum CodingKeys: String, CodingKey {
    case id, urls, list, folder, files, limits, jobs, watch, key
    case verb = "do"
  }
}
