import DownloadModel
import FileReceiving
import TerminalProgress

/// A list that `dlm get` can read again in the same folder: URLs under comments that give the cause.
enum FailedList {
  /// The folder of `--directory`, if `directory=` of a line can name it; `nil` for none.
  static func folder(_ directory: String) -> String? {
    directory != "." && FileNaming.isUsablePath(directory) ? directory : nil
  }

  static func text(_ report: RunReport, in directory: String) -> String {
    var lines: [String] = []
    if report.failures.isEmpty, report.rejections.isEmpty { lines.append("# nothing failed") }
    lines += report.rejections.map { "# " + TerminalText.sanitized(RejectionMessages($0).line) }
    for group in FailureMessages.groups(of: report.failures) {
      lines.append("# " + TerminalText.sanitized(group.messages.heading))
      lines += group.errors.map { line($0, in: directory) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A failure without a URL concerns a folder or file: there is nothing to download again.
  static func line(_ error: DownloadError, in directory: String) -> String {
    guard let address = error.address else { return "# " + TerminalText.sanitized(error.path ?? "") }
    var options = LineOptions(error.wishes)
    options.directory = folder(directory)
    return address + options.text
  }
}
