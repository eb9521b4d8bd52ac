import ArgumentParser
import FoundationEssentials
import SystemPackage

/// The environment and the settings files, strongest first.
struct SettingsSources {
  let environment: [String: String]
  let files: [SettingsFile]
  /// The command's own options, which have priority.
  private(set) var given: Set<String> = []

  static func load(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> SettingsSources {
    StandardError.say(
      unknownVariables(environment.keys).map { name in
        let known = (OptionTable.settingKeys.map(variable) + ["DLM_CERT_PASSPHRASE"]).sorted()
        let meant = NearestWord.to(name, among: known).map { "; did you mean \($0)?" }
        return "dlm: \(name) in the environment is not a setting, and is ignored\(meant ?? "")"
      })
    StandardError.say(XDGFolders(environment).configWarning)
    let ownFile = try ownPath(environment).flatMap { try SettingsFile(at: $0, .ownFolder, say: StandardError.say) }
    let here = try SettingsFile(at: folderPath, .workingFolder, besides: ownFile, say: StandardError.say)
    return SettingsSources(environment: environment, files: [here, ownFile].compactMap(\.self))
  }

  static let folderPath: FilePath = ".dlm.conf"
  static func ownPath(_ environment: [String: String]) -> FilePath? {
    XDGFolders(environment).config?.appending("dlm.conf")
  }

  static func variable(_ key: String) -> String {
    "DLM_" + String(key.uppercased().map { $0 == "-" || $0 == "." ? "_" : $0 })
  }

  /// Variables that set no key of a settings file: a secret, variables of dlm's own tests, and those that a command of
  /// `Hooks`, which may be dlm, receives.
  private static let otherVariables: Set = [
    "DLM_CERT_PASSPHRASE", "DLM_BINARY", "DLM_TEST_LIMIT", "DLM_URL", "DLM_PATH", "DLM_VERDICT", "DLM_STATUS",
    "DLM_DONE", "DLM_FAILED",
  ]

  static func unknownVariables(_ names: some Sequence<String>) -> [String] {
    let own = names.filter { $0.utf8.starts(with: "DLM_".utf8) && !otherVariables.contains($0) }
    return own.isEmpty ? [] : Set(own).subtracting(OptionTable.settingKeys.map(variable)).sorted()
  }

  /// Completes a command with set values for the options that it lacks; only those are found from then on.
  mutating func complete(_ command: inout GetCommand) throws {
    for row in command.rows where row.texts(command).contains("") { try refuseEmpty(row.name, at: row.spelled) }
    // Usually none is set, and the search is skipped.
    guard !files.isEmpty || environment.keys.contains(where: { $0.utf8.starts(with: "DLM_".utf8) }) else { return }
    given = Set(command.rows.filter { !$0.texts(command).isEmpty }.map(\.name))
    // `--tlsv1.2` on the command line has priority over a `tlsv1.3` setting.
    if given.contains("tlsv1.2") { given.insert("tlsv1.3") }
    for row in OptionTable.rows where row.setting != .nowhere { try set(row, in: &command) }
    command.given = nil
  }

  /// An unset shell variable gives an empty value, with which files would silently go elsewhere.
  private func refuseEmpty(_ name: String, at place: String) throws {
    if OptionTable.mayBeEmpty.contains(name) { return }
    throw ValidationError("\(place): the value is empty (an unset variable?). Give one, or leave \(place) out.")
  }

  /// The value of a key as written, and its origin; `nil` if it is not set, or an option sets it.
  func found(_ key: String) -> (text: String, origin: SettingOrigin)? {
    if given.contains(key) { return nil }
    let variable = Self.variable(key)
    if let text = environment[variable] { return (text, SettingOrigin(kind: "environment", place: variable)) }
    return files.lazy.compactMap { $0.found(key) }.first
  }

  func value<Value: ExpressibleByArgument>(_ key: String) throws -> Value? {
    guard let (text, origin) = found(key) else { return nil }
    if let value = Value(argument: text) { return value }
    throw invalid(key, text, origin, UsageMessages.possible(Value.self, nearly: text))
  }

  private func set(_ row: OptionTable.Row, in command: inout GetCommand) throws {
    guard let (text, origin) = found(row.name) else { return }
    let texts = OptionTable.repeated.contains(row.name) ? OptionTable.lines(of: text) : [text]
    if row.kind != .flag, texts.contains("") { try refuseEmpty(row.name, at: origin.name) }
    if row.take(&command, texts) { return }
    let bad = texts.first { !row.take(&command, [$0]) } ?? text
    throw invalid(row.name, bad, origin, row.possible(bad))
  }

  private func invalid(_ key: String, _ text: String, _ origin: SettingOrigin, _ possible: String) -> ValidationError {
    ValidationError("\(origin.name): \"\(text)\" is not a value for \(key); use \(possible)")
  }

  /// Makes an error in `body` name the variable or the line of the value; an option names itself.
  func naming<Given, Value>(_ key: String, _ given: Given?, _ body: (Given) throws -> Value) throws -> Value? {
    do {
      return try given.map(body)
    } catch let mistake as ValidationError {
      guard let origin = found(key)?.origin else { throw mistake }
      throw ValidationError("\(origin.name): \(mistake.message)")
    }
  }

  /// An error about several settings, with the places of those that are no options.
  func conflict(_ message: String, _ keys: String...) -> ValidationError {
    let places = keys.compactMap { key in found(key).map { "\(key): \($0.origin.name)" } }
    return ValidationError(places.isEmpty ? message : "\(message) (\(places.joined(separator: ", ")))")
  }
}
