import ArgumentParser
import DownloadModel

struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Show every setting and its source, or change one.",
    // The parser's own usage would name get, whose options these are.
    usage: """
      dlm config [<name> ...] [--json] [<options of get>]
      dlm config set <name> <value> ...
      dlm config unset <name>
      """,
    discussion: """
      EXAMPLES
        dlm config
        dlm config proxy jobs             only these two
        dlm config --jobs 8 --json        as dlm get --jobs 8 would have them
        dlm config set limit-rate 5M      in your own dlm.conf
        dlm config set retry-on 403 5xx   a setting of several lines
        dlm config unset limit-rate

      One line per setting: its name, its value, and its source: an option, an environment variable, a line of a file, \
      or built-in. The strongest source wins: option, DLM_… in the environment, ./.dlm.conf, \
      $XDG_CONFIG_HOME/dlm/dlm.conf (~/.config), built-in. Secrets are not shown.

      set and unset change your own dlm.conf, and say the old value. Other lines, comments and [host] sections stay. \
      A wrong name or value changes nothing.
      """)

  @Argument(
    help: .value("name", "A setting, named after its option (default: all), or set, or unset."),
    completion: .list(["set", "unset"] + OptionTable.settingKeys.sorted()))
  var words: [String] = []

  @OptionGroup var own: GetOptions
  @OptionGroup var lists: ListOptions
  @OptionGroup var shared: RunOptions

  func run() async throws {
    let isEdit = words.first == "set" || words.first == "unset"
    let names = OptionTable.settingKeys.sorted()
    for name in isEdit ? words.dropFirst().prefix(1) : words[...] where !names.contains(name) {
      let meant = NearestWord.to(name, among: names).map { ": did you mean \($0)?" } ?? ": dlm config lists all"
      throw ValidationError("\"\(Redaction.redactedAddress(name))\" is not a setting\(meant)")
    }
    if isEdit { return try edit() }
    var get = try GetCommand.parse([])
    get.own = own
    get.lists = lists
    get.shared = shared
    var all = SettingInForce.all(get, try SettingsSources.load())
    if !words.isEmpty { all.removeAll { !words.contains($0.name) } }
    if own.json { return try StandardOutput.say(json: all.map(\.json)) }
    try StandardOutput.say(SettingInForce.lines(all))
  }

  private func edit() throws {
    let values = Array(words.dropFirst(2))
    guard words.count > 1, values.isEmpty == (words[0] == "unset") else {
      throw ValidationError("write dlm config set NAME VALUE, or dlm config unset NAME")
    }
    let name = words[1]
    // A line end would start another setting.
    guard values.count < 2 || OptionTable.repeated.contains(name), !values.joined().contains(where: \.endsLine) else {
      throw ValidationError("\(name) takes one value, on one line; write quotes around blanks")
    }
    try StandardOutput.say([try SettingsEdit.set(name, to: values)])
    if let found = try SettingsSources.load().found(name), !found.text.hasPrefix(values.joined(separator: "\n")) {
      StandardError.say("dlm: \(found.origin.name) sets \(name) too, and is stronger")
    }
  }
}
