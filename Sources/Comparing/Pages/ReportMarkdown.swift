import DownloadModel
import TerminalProgress

/// A report as GitHub-flavoured Markdown.
struct ReportMarkdown {
  let contents: ReportContents
  let facts: ReportFacts

  var text: String {
    let blocks = [
      "# \(Self.escaped(facts.headline))",
      Self.escaped([facts.list, contents.scope, facts.date].filter { !$0.isEmpty }.joined(separator: " · ")),
      table([""] + contents.modes.map(\.name), contents.measures.map { [$0.name] + $0.values }),
      list(facts.notes), facts.command.isEmpty ? "" : "    \(Markup.clean(facts.command))",
      list(facts.machine.map { "\($0.name): \($0.value)" }), list(contents.definitions),
    ]
    return blocks.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
  }

  private func list(_ items: [String]) -> String { items.map { "- \(Self.escaped($0))" }.joined(separator: "\n") }

  private func table(_ head: [String], _ rows: [[String]]) -> String {
    func line(_ cells: [String]) -> String { "| \(cells.map(Self.escaped).joined(separator: " | ")) |" }
    let rule = "| :-- |" + String(repeating: " --: |", count: head.count - 1)
    return ([line(head), rule] + rows.map(line)).joined(separator: "\n")
  }

  /// What Markdown would take for its own, with a backslash (CommonMark 0.31 §2.4). Where a line begins, some
  /// characters mean more than within it, and `1. ` begins a list.
  static func escaped(_ text: String) -> String {
    let scalars = Array(Markup.clean(text).unicodeScalars)
    let digits = scalars.prefix { ("0"..."9").contains($0) }.count
    let isNumbered = digits > 0 && (digits + 1 == scalars.count || scalars.dropFirst(digits + 1).first == " ")
    var escaped = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      let isSpecial =
        switch scalar {
        case "\\", "`", "*", "_", "[", "]", "<", ">", "|", "~", "&", "#": true
        case "+", "-", "=": index == 0
        case ".", ")": isNumbered && index == digits
        default: false
        }
      if isSpecial { escaped.append("\\") }
      escaped.append(scalar)
    }
    return String(escaped)
  }
}
