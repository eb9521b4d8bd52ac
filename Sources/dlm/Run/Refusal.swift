import DownloadModel

/// Ends a command with a status, and a line that gives the reason.
struct Refusal: Error {
  let line: String
  let status: ExitStatus

  init(_ line: String, _ status: ExitStatus = .diskFailed) {
    self.line = line
    self.status = status
  }

  init(_ error: DownloadError) { self.init(FailureMessages(error).said, ExitStatus(failures: [error], rejections: [])) }
}
