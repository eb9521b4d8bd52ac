import DownloadModel
import Glibc
import TerminalProgress

enum QuestionMessages {
  /// - Parameter note: why the last answer was invalid.
  static func lines(_ question: Question, _ editor: LineEditor, note: String?) -> [String] {
    let outcome = question.outcome
    let type = (question.picture ?? outcome.mediaType).map { ", \($0)" } ?? ""
    switch question.kind {
    case .conflict:
      return [
        "\(outcome.wantedName) exists (\(standing(outcome.renamedFrom ?? ""))). "
          + "The new one: \(Quantity.bytes(outcome.size))\(type).",
        (note.map { "\($0)   " } ?? "") + "[k]eep both (Enter; the new one is \(outcome.name))  [r]eplace  "
          + "[s]kip the new one   capital letter: for all",
      ]
    case .name:
      // Brackets surround the selection; otherwise a bar is the cursor.
      let (name, hint) =
        editor.isSelected
        ? ("[\(editor.text)]", "Enter takes it, typing replaces it, arrows edit it")
        : ("\(editor.beforeCursor)|\(editor.afterCursor)", "Enter takes it, Escape leaves it as it was")
      return [
        "\(question.request.address) (\(Quantity.bytes(outcome.size))\(type))",
        "Name: \(name)   \(note ?? hint)",
      ]
    }
  }

  /// `2 links pasted: host.example/a, host.example/b. Fetch them? [y/n]`
  static func line(_ links: [String], note: String?) -> String {
    let most = 3
    var names = links.prefix(most).compactMap { try? Address($0) }.map { "\($0.host)/\($0.lastPathSegment)" }
    if links.count > most { names.append("\(Quantity.count(links.count - most)) more") }
    return Quantity.count(links.count, "link", "links") + " pasted: \(names.joined(separator: ", ")). Download "
      + (links.count == 1 ? "it" : "them") + "? [y/n]" + (note.map { "   \($0)" } ?? "")
  }

  static func lines(_ key: UnknownHostKey, note: String?) -> [String] {
    [
      "\(key.host)\(key.port == 22 ? "" : ":\(key.port)") shows a key that your known_hosts does not have:",
      // Alone, because a window may cut a longer line.
      key.fingerprint,
      "Is it the server's? [y]es, now and later  [n]o" + (note.map { "   \($0)" } ?? ""),
    ]
  }

  /// - Parameter run: "the run in data"
  static func added(_ files: Addition, to run: String) -> String {
    if files.added == 0 { return "added nothing to \(run)" + (files.known > 0 ? ", which has that already" : "") }
    return "added \(Quantity.files(files.added)) to \(run)"
      + (files.known > 0 ? ", which has \(Quantity.count(files.known)) already" : "")
  }

  static func limited(_ limits: [RateLimit], _ run: String) -> String {
    "\(run) is limited to " + limits.map(\.description).joined(separator: ", ")
  }

  /// - Parameter bytes: a second; `nil` for no limit.
  static func limit(_ bytes: Int64?) -> String { bytes.map { "at most \(Quantity.bytes($0))/s" } ?? "no limit" }

  static func unasked(_ output: OutputSettings) -> [String] {
    let (option, instead) =
      output.asksNames
      ? ("--ask-names", "each file keeps its name") : ("--on-conflict ask", "both files are kept")
    return ["dlm: \(option): there is no terminal with progress bars to ask on, so \(instead)"]
  }

  /// - Parameter count: files at a time; `nil` if it is always one.
  static func width(_ count: Int?) -> String {
    guard let count else { return "one file at a time: that is what sequential means" }
    return "\(Quantity.files(count)) at once"
  }

  static let unknownKey = "Not one of these keys."

  /// `1.2 MiB, of 2026-11-20 18:22`
  private static func standing(_ path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0 else { return "no longer there" }
    let time = TimeText.local(seconds: Int64(status.st_mtim.tv_sec))
    return "\(Quantity.bytes(Int64(status.st_size))), of \(time)"
  }
}
