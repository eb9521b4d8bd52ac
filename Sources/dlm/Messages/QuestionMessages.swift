import DownloadCaching
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
      return [
        "\(outcome.wantedName) is here already (\(standing)). "
          + "The new one: \(Quantity.bytes(outcome.size))\(type).\(more)",
        (note.map { "\($0)   " } ?? "") + keys(saved: question.outcome.name),
      ]
    case .name:
      return [
        "\(question.request.address) (\(Quantity.bytes(outcome.size))\(type))\(more)",
        "Name: \(line(editor))   \(note ?? hint(editor))",
      ]
    }
  }

  /// Enter means what is said first.
  private static func keys(saved: String) -> String {
    "[k]eep both (Enter; the new one is \(saved))  [r]eplace  [s]kip the new one   capital letter: for all"
  }

  /// What cannot be asked, and what happens instead.
  static func unasked(_ output: OutputSettings) -> [String] {
    let instead = output.asksNames ? "each file keeps the name that it has" : "both files are kept"
    let option = output.asksNames ? "--ask-names" : "--on-conflict ask"
    return ["\(option): there is no terminal with bars to ask at, so \(instead)."]
  }

  /// What a key has changed.
  /// - Parameter count: files at a time; nil where there is always one.
  static func width(_ count: Int?) -> String {
    guard let count else { return "one file at a time: that is what --mode sequential means" }
    return "\(Quantity.files(count)) at a time"
  }

  static let unknownKey = "Not one of these keys."

  /// What is selected stands in brackets; else the cursor is a bar.
  private static func line(_ editor: LineEditor) -> String {
    editor.isSelected ? "[\(editor.text)]" : "\(editor.beforeCursor)|\(editor.afterCursor)"
  }

  private static func hint(_ editor: LineEditor) -> String {
    editor.isSelected
      ? "Enter takes it, typing replaces it, arrows edit it" : "Enter takes it, Escape leaves it as it was"
  }

  /// Why a name could not be given.
  static func refusal(_ error: DownloadError) -> String {
    error.cause == .errno(EEXIST) ? "that name is taken" : error.reason
  }

  /// - Parameter written: what finished files there are.
  static func removal(_ written: Freed, _ unfinished: [UnfinishedFile]) -> String {
    "Remove \(CacheMessages.removable(written, unfinished))? This cannot be undone. [y/N] "
  }

  static func passphrase(of path: String) -> String { "Pass phrase for \(path): " }

  /// `1.2 MiB, of 2026-11-20 18:22`
  static func standing(_ path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { return "no longer there" }
    let time = TimeText.local(seconds: Int64(status.st_mtim.tv_sec))
    return "\(Quantity.bytes(Int64(status.st_size))), of \(time)"
  }
}
