import DownloadModel
import Glibc
import TerminalProgress

/// What is asked at the terminal.
enum QuestionMessages {
  /// - Parameters:
  ///   - editor: the name as far as it was typed.
  ///   - note: why the last answer could not be taken; nil for a first one.
  ///   - waiting: questions behind this one.
  static func lines(_ question: Question, _ editor: LineEditor, note: String?, waiting: Int) -> [String] {
    let outcome = question.outcome
    let type = outcome.mediaType.map { ", \($0)" } ?? ""
    let more = waiting > 0 ? "   (\(waiting) more \(waiting == 1 ? "question waits" : "questions wait"))" : ""
    switch question.kind {
    case .conflict(let standing):
      // Enter means what is said first.
      return [
        "\(outcome.wantedName) is here already (\(standing)). "
          + "The new one: \(Quantity.bytes(outcome.size))\(type).\(more)",
        (note.map { "\($0)   " } ?? "") + "[k]eep both (Enter; the new one is \(question.savedName))  [r]eplace  "
          + "[s]kip the new one   capital letter: for all",
      ]
    case .name:
      // What is selected stands in brackets; else the cursor is a bar.
      let (name, hint) =
        editor.isSelected
        ? ("[\(editor.text)]", "Enter takes it, typing replaces it, arrows edit it")
        : ("\(editor.beforeCursor)|\(editor.afterCursor)", "Enter takes it, Escape leaves it as it was")
      return [
        "\(question.request.address) (\(Quantity.bytes(outcome.size))\(type))\(more)",
        "Name: \(name)   \(note ?? hint)",
      ]
    }
  }

  /// What cannot be asked, and what happens instead.
  static func unasked(_ output: OutputSettings) -> [String] {
    let (option, instead) =
      output.asksNames
      ? ("--ask-names", "each file keeps the name that it has") : ("--on-conflict ask", "both files are kept")
    return ["\(option): there is no terminal with bars to ask at, so \(instead)."]
  }

  /// - Parameter count: files at a time; nil where there is always one.
  static func width(_ count: Int?) -> String {
    guard let count else { return "one file at a time: that is what --mode sequential means" }
    return "\(Quantity.files(count)) at a time"
  }

  static let unknownKey = "Not one of these keys."

  static func refusal(_ error: DownloadError) -> String {
    error.cause == .errno(EEXIST) ? "that name is taken" : error.reason
  }

  /// `1.2 MiB, of 2026-11-20 18:22`
  static func standing(_ path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { return "no longer there" }
    let time = TimeText.local(seconds: Int64(status.st_mtim.tv_sec))
    return "\(Quantity.bytes(Int64(status.st_size))), of \(time)"
  }
}
