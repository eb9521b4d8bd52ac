import DownloadModel
import TerminalProgress

struct SettingInForce {
  let name: String
  /// Without possible secrets; `nil` if it is not set.
  let value: String?
  /// The meaning of an unset value.
  let meaning: String
  let origin: SettingOrigin

  static func all(_ command: GetCommand, _ sources: SettingsSources) -> [SettingInForce] {
    let settings =
      OptionTable.rows.filter { $0.setting != .nowhere }.map { ($0.name, $0.texts(command), $0.usual, $0.meaning) }
      + [("loops", [], nil, "one per core, at most 8")]
    return settings.map { name, given, usual, meaning in
      let option = (text: given.joined(separator: "\n"), origin: SettingOrigin(kind: "option", place: "--\(name)"))
      let set = given.isEmpty ? sources.found(name) : option
      return SettingInForce(
        name: name, value: set.map { shown($0.text, of: name) } ?? usual, meaning: meaning,
        origin: set?.origin ?? SettingOrigin(kind: "built-in"))
    }
  }

  static func shown(_ text: String, of name: String) -> String {
    switch name {
    case "header":
      OptionTable.lines(of: text).map(HeaderArgument.init).map { $0.isFile ? $0.text : "\($0.name): \(Redaction.mark)" }
        .joined(separator: ", ")
    case "proxy": Redaction.withoutLogin(text)
    default: Redaction.redacted(text)
    }
  }

  var json: JSONValue {
    JSONValue(["name": name, "value": value, "from": origin.kind, "place": origin.place, "line": origin.line])
  }

  static func lines(_ all: [SettingInForce]) -> [String] {
    let texts = all.map { $0.value.map { $0.isEmpty ? "\"\"" : $0 } ?? "(\($0.meaning))" }
    let names = all.map(\.name.count).max() ?? 0
    let width = min(32, texts.map(\.count).max() ?? 0)
    // The blank keeps a wider value apart from the next column.
    return TextColumns.lines(zip(all, texts).map { [$0.name, $1 + " ", $0.origin.name] }, [names + 2, width + 2, 0])
  }
}
