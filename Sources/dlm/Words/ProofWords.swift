import DownloadModel
import TerminalProgress

/// Words about what proved the files of a run.
enum ProofWords {
  /// Names of a checksum list that no file had: a list mostly names more than one fetches.
  static func unused(_ names: [String]) -> [String] {
    guard !names.isEmpty else { return [] }
    let shown = names.prefix(3).map { TerminalText.sanitized($0) }.joined(separator: ", ")
    let more = names.count > 3 ? " and \(Quantity.count(names.count - 3)) more" : ""
    return ["Named in the checksum list, but not in this run: \(shown)\(more)"]
  }

  /// What the files were proved by, where that is more, or less, than their length; nil where there is nothing to say.
  static func line(_ tally: ProgressTally) -> String? {
    var parts: [String] = []
    if tally.provenByDigest > 0 { parts.append("\(Quantity.count(tally.provenByDigest)) proved by checksum") }
    if tally.unproven > 0 {
      parts.append(
        "\(Quantity.count(tally.unproven)) not proved whole (the server gave no length; --require-proof refuses that)"
      )
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
