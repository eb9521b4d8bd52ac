import ArgumentParser
import DownloadModel
import SystemPackage
import TerminalProgress

struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Show every setting, and where its value comes from.",
    // Made by the parser, it would name get, whose options these are.
    usage: "dlm config [--json] [<name> ...] [<options of get>]",
    discussion: """
      One line per setting: its name, its value, and what sets it: an option, an environment variable, a line of a \
      file, or dlm itself (built-in). Strongest first: option, DLM_… in the environment, ./.dlm.conf, \
      $XDG_CONFIG_HOME/dlm/dlm.conf, built-in. Secrets are not shown.

      EXAMPLES
        dlm config
        dlm config proxy jobs                    these alone
        dlm config --json
        dlm config --jobs 8 --progress plain     what dlm get would use with these
      """)

  @Flag(help: "As JSON, one object per line.") var json = false
  @OptionGroup var get: GetCommand

  func run() async throws {
    var all = SettingInForce.all(get, try SettingsSources.load())
    let names = all.map(\.name)
    for name in get.sources where !names.contains(name) {
      let meant = NearestWord.to(name, among: names).map { ": did you mean \($0)?" } ?? ": dlm config lists all"
      throw ValidationError("\"\(Redaction.redactedAddress(name))\" is not a setting\(meant)")
    }
    if !get.sources.isEmpty { all.removeAll { !get.sources.contains($0.name) } }
    if json { return try StandardOutput.say(json: all.map(\.json)) }
    try StandardOutput.say(SettingInForce.lines(all))
  }
}

struct SettingInForce {
  let name: String
  /// Without what may be secret; nil where nothing is set.
  let value: String?
  /// What it means that nothing is set.
  let meaning: String
  let origin: SettingOrigin

  static func all(_ command: GetCommand, _ sources: SettingsSources) -> [SettingInForce] {
    var command = command
    let settings =
      OptionTable.rows.filter { $0.setting != .nowhere }.map { ($0.name, $0.texts(&command), $0.usual, $0.meaning) }
      + [("loops", [], nil, "one per core, at most 8")]
    return settings.map { name, given, usual, meaning in
      let option = (text: given.joined(separator: "\n"), origin: SettingOrigin.option("--\(name)"))
      let set = given.isEmpty ? sources.found(name) : option
      return SettingInForce(
        name: name, value: set.map { shown($0.text, of: name) } ?? usual, meaning: meaning,
        origin: set?.origin ?? .builtIn)
    }
  }

  private static func shown(_ text: String, of name: String) -> String {
    switch name {
    case "header":
      OptionTable.lines(of: text).map(HeaderArgument.init).map { $0.isFile ? $0.text : "\($0.name): \(Redaction.mark)" }
        .joined(separator: ", ")
    case "proxy": Redaction.withoutLogin(text)
    default: Redaction.redacted(text)
    }
  }

  var json: JSONValue {
    let (kind, place, line): (String, String?, Int?) =
      switch origin {
      case .option(let name): ("option", name, nil)
      case .variable(let name): ("environment", name, nil)
      case .file(let path, let line): ("file", path.string, line)
      case .builtIn: ("built-in", nil, nil)
      }
    return JSONValue(["name": name, "value": value, "from": kind, "place": place, "line": line])
  }

  static func lines(_ all: [SettingInForce]) -> [String] {
    let texts = all.map { $0.value.map { $0.isEmpty ? "\"\"" : $0 } ?? "(\($0.meaning))" }
    let names = all.map(\.name.count).max() ?? 0
    let width = min(32, texts.map(\.count).max() ?? 0)
    // The blank keeps a wider value apart from the next column.
    return TextColumns.lines(zip(all, texts).map { [$0.name, $1 + " ", $0.origin.name] }, [names + 2, width + 2, 0])
  }
}
