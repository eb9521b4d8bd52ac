import DownloadModel
import FileReceiving

struct Question {
  enum Kind: Equatable {
    /// Another file has its name.
    case conflict
    case name
  }

  let request: DownloadRequest
  let outcome: DownloadOutcome
  let kind: Kind
  /// An image's format and size, as a text.
  var picture: String?

  /// The file's outcome after a decision was carried out.
  /// - Parameter path: the file's path now; `nil` if it was removed.
  func outcome(after decision: NameDecision, at path: String?) -> DownloadOutcome {
    var outcome = outcome
    if path == nil { outcome.kind = .skipped }
    outcome.path = path ?? outcome.renamedFrom ?? outcome.path
    // A name that the user gave or withdrew causes no further question.
    if decision != .keep, decision != .replace { outcome.renamedFrom = nil }
    return outcome
  }

  /// - Returns: the decision on a conflict, and whether it applies to all later ones; `nil` for other keys.
  static func decision(for key: TerminalKey) -> (NameDecision, forAll: Bool)? {
    guard case .text(let letter) = key == .enter ? .text("k") : key else { return nil }
    let decisions: [String: NameDecision] = ["k": .keep, "r": .replace, "s": .discard]
    return decisions[letter.lowercased()].map { ($0, letter != letter.lowercased()) }
  }
}
