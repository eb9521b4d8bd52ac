import DownloadModel

/// What is worth knowing of a file that ended well, beyond its size.
enum OutcomeNote {
  /// - Parameter showsPath: whether the final path stands beside the note already.
  static func text(_ outcome: DownloadOutcome, showsPath: Bool = false) -> String {
    var notes: [String] = []
    switch outcome.kind {
    case .fetched:
      if outcome.resumed > 0 { notes.append("resumed from \(Quantity.bytes(outcome.resumed))") }
    case .unchanged: notes.append("unchanged")
    case .copied: notes.append("copied from this disk")
    case .skipped: notes.append("skipped: a file is there")
    }
    if let wanted = outcome.renamedFrom.map(name) {
      notes.append(
        showsPath ? "as \(wanted) was there" : "saved as \(name(outcome.path)): \(wanted) was there")
    }
    return notes.joined(separator: ", ")
  }

  /// The name that the user expects to read: the one the file was to have.
  static func name(_ outcome: DownloadOutcome) -> String { name(outcome.renamedFrom ?? outcome.path) }

  private static func name(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return path }
    let last = path[path.index(after: slash)...]
    return last.isEmpty ? path : String(last)
  }
}
