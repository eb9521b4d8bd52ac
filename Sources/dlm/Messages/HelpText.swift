import ArgumentParser
import FoundationEssentials
import TerminalProgress

/// The parser's help in reading order: the usage of a command, examples, its options in sections, and then other
/// information.
struct HelpText {
  /// The parser wraps lines without regard to columns, so it gets more room than it needs.
  static let unwrapped = 1 << 16
  /// The column of the parser's texts about options.
  private static let column = 26

  private let usage: String
  private let about: [String]
  /// Sections without the options in `sections`.
  private var others: [String] = []
  private var options: [String: Substring] = [:]
  private let isOfGet: Bool

  private static var get: HelpText? { HelpText(DLM.helpMessage(for: GetCommand.self, columns: unwrapped)) }

  /// - Returns: `nil` for a text that is not help: a version, a script.
  private init?(_ text: String) {
    let paragraphs = text.split(separator: "\n\n").map(String.init)
    guard text.hasPrefix("OVERVIEW: "), let place = paragraphs.firstIndex(where: { $0.hasPrefix("USAGE: ") })
    else { return nil }
    usage = paragraphs[place]
    isOfGet = usage.hasPrefix("USAGE: dlm get ")
    let get = isOfGet ? nil : Self.get
    about = [String(paragraphs[0].dropFirst("OVERVIEW: ".count))] + paragraphs[1..<max(1, place)]
    let named = Set(OptionTable.sections.flatMap(\.names))
    for section in paragraphs[(place + 1)...] {
      var rest: [Substring] = []
      // A line with more indentation belongs to the line before it.
      for element in section.split(separator: /:?\n(?! {8})/) {
        let name = element.prefixMatch(of: /\ {2}(?:-\w, )?--([\w.-]+)/).map { String($0.1) }
        if let name, named.contains(name), isOfGet || get?.options[name] == element {
          options[name] = element
        } else {
          rest.append(element)
        }
      }
      if rest.count > 1 || section.hasPrefix(" ") { others.append(rest.joined(separator: "\n")) }
    }
  }

  /// - Parameter text: the parser's, not wrapped. A text that is not help is shown unchanged.
  static func shown(_ text: String, _ words: [String]) -> String {
    guard let help = HelpText(text) else { return text }
    let isBrief = words.isEmpty || words.prefix { $0 != "--" }.contains("-h")
    if isBrief, ["USAGE: dlm <", "USAGE: dlm get "].contains(where: help.usage.hasPrefix) { return screen }
    let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
    return help.whole(columns: columns ?? StandardOutput.terminal?.columns ?? 80)
  }

  private func whole(columns: Int) -> String {
    var sections = OptionTable.sections.compactMap { title, names in
      let lines = names.compactMap { options[$0] }
      return lines.isEmpty ? nil : "\(title)\n\(lines.joined(separator: "\n"))"
    }
    // Explained once; the last section is HELP.
    if !isOfGet, sections.count > 1 {
      let names = OptionTable.rows.map(\.name).filter { options[$0] != nil }.map { "--\($0)" }
      sections = ["As in dlm get (see dlm get --help): \(names.joined(separator: ", "))"] + sections.suffix(1)
    }
    let head = about.prefix { $0.prefixMatch(of: /(?!EXAMPLES)[A-Z]{3}/) == nil }
    return ([usage] + head + others + sections + about.dropFirst(head.count)).joined(separator: "\n\n")
      .replacing(". (values: ", with: " (values: ").replacing(". (default: ", with: " (default: ")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .flatMap { Self.wrapped(String($0), columns) }.joined(separator: "\n")
  }

  /// The daily options, on 24 lines of 80 columns with the prompt below.
  private static var screen: String {
    let get = get
    let options = OptionTable.sections.flatMap(\.names).filter(OptionTable.daily.contains)
      .compactMap { get?.options[$0] }.map { $0.prefix(column) + brief($0.dropFirst(column), within: 80 - column) }
    let commands = DLM.configuration.subcommands.compactMap { $0.configuration.commandName }
      .filter { !["get", "completion", "merge", "rename"].contains($0) }
    return
      (["USAGE: dlm [get] [<options>] [<source> ...]   (a list, a URL, or -: a pipe)"] + options
      + TextWrap.wrapped("\(commands.joined(separator: ", ")); more: dlm get --help", 79, behind: "Commands: ")
      .map { Substring($0) })
      .joined(separator: "\n")
  }

  /// As many clauses of a text as there is room for.
  static func brief(_ text: Substring, within room: Int) -> Substring {
    let ends = text.matches(of: /[,;:.](?: |$)(?![^(]*\))| \(/).map(\.range.lowerBound)
    let end = ends.last { text.distance(from: text.startIndex, to: $0) <= room }
    return end.map { text[..<$0] } ?? (text.count <= room ? text : text.prefix(room - 1) + "…")
  }

  private static func wrapped(_ line: String, _ columns: Int) -> [String] {
    guard line.count > columns else { return [line] }
    let label = line.hasPrefix("  -") ? line.prefix(column) : line.prefixMatch(of: #/.* {2}/#)?.output ?? ""
    return TextWrap.wrapped(String(line[label.endIndex...]), columns, behind: String(label))
  }
}
