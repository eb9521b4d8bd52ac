import DownloadModel
import TerminalProgress

/// What failed, as a list that `dlm get` reads again: addresses under comments that say why.
struct FailedList {
  let text: String

  init(_ report: RunReport) {
    var lines: [String] = []
    if report.failures.isEmpty, report.rejections.isEmpty { lines.append("# nothing failed") }
    lines += report.rejections.map { "# " + Self.oneLine(RejectionWords($0).line) }
    for group in FailureGroup.groups(of: report.failures) {
      lines.append("# " + Self.oneLine(group.heading))
      // A failure without an address is of a place, and nothing to fetch.
      lines += group.errors.map { $0.address ?? "# " + Self.oneLine($0.path ?? "") }
    }
    text = lines.joined(separator: "\n") + "\n"
  }

  static func oneLine(_ text: String) -> String {
    TerminalText.sanitized(text).replacing("\n", with: " ")
  }
}

/// Failures of one cause.
struct FailureGroup {
  let heading: String
  var errors: [DownloadError]

  /// In the order in which each cause was first met.
  static func groups(of errors: [DownloadError]) -> [FailureGroup] {
    var groups: [FailureGroup] = []
    var indices: [String: Int] = [:]
    for error in errors {
      let heading = FailureWords(error).heading
      if let index = indices[heading] {
        groups[index].errors.append(error)
      } else {
        indices[heading] = groups.count
        groups.append(FailureGroup(heading: heading, errors: [error]))
      }
    }
    return groups
  }
}
