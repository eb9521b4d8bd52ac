import DownloadModel

/// Ends a command with a status, and a line that gives the reason.
struct Refusal: Error {
  let line: String
  let status: ExitStatus
  /// What to choose from, for example.
  let further: [String]

  init(_ line: String, _ status: ExitStatus = .diskFailed, further: [String] = []) {
    self.line = line
    self.status = status
    self.further = further
  }

  init(_ error: DownloadError) { self.init(FailureMessages(error).said, ExitStatus(failures: [error], rejections: [])) }
}
