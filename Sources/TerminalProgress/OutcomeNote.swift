import DownloadModel

/// What is worth knowing of a file that ended well, beyond its size.
enum OutcomeNote {
  static let waits = "another dlm has it: waiting until it is done"

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
    switch outcome.remark {
    case .sameAsHere: notes.append("the same as what was here")
    case .noContent: notes.append("empty: the server answered 204 No Content")
    case .decoded: notes.append("decompressed: the server sent it so unasked")
    case .stillCoded: notes.append("kept in the Content-Encoding that the server sent")
    case nil: break
    }
    if outcome.renamedFrom != nil {
      let wanted = outcome.wantedName
      notes.append(
        showsPath ? "as \(wanted) was there" : "saved as \(outcome.name): \(wanted) was there")
    }
    return notes.joined(separator: ", ")
  }

  /// The name that the user expects to read: the one the file was to have.
  static func name(_ outcome: DownloadOutcome) -> String { outcome.wantedName }
}
