import DownloadModel

/// The options of a `get` as they would be typed, for `dlm get` without a SOURCE. Options of the new command are typed
/// after them, because the last one counts.
struct RememberedOptions: Equatable {
  /// Options that a repeated run uses, too, without secrets.
  private(set) var lasting: [String] = []
  /// Options of this run only, and secrets, which are not stored.
  private var once: [String] = []
  private(set) var withheld: [RememberedCommand.Withheld] = []

  var typed: [String] { lasting + once }
  /// All but secrets.
  private(set) var open: [String] = []

  init(_ command: GetCommand) {
    var command = command
    if command.sources.contains("-") { command.lists.areThoseOfLines() }
    for row in command.rows {
      for text in row.texts(command) {
        let secret: RememberedCommand.Withheld? =
          switch row.kind {
          case .headers where !HeaderArgument(argument: text).isFile:
            .header(name: HeaderArgument(argument: text).name)
          case .address where text.unicodeScalars.contains("@"): row.name == "proxy" ? .proxy : .option(name: row.name)
          case .login: .login
          default: nil
          }
        if let secret { withheld.append(secret) }
        let words = Self.words(row, text)
        if secret == nil { open += words }
        if row.isLasting, secret == nil { lasting += words } else { once += words }
      }
    }
    if command.sources.contains(where: Self.hasLogin) { withheld.append(.addressLogins) }
  }

  /// One word if there is a value, because that may start with a dash.
  private static func words(_ row: OptionTable.Row, _ text: String) -> [String] {
    if row.kind == .flag { return [row.spelled] }
    return text.isEmpty ? [row.spelled, ""] : ["\(row.spelled)=\(text)"]
  }

  private static func hasLogin(_ source: String) -> Bool {
    guard case .address(let text) = Source(source) else { return false }
    return (try? Address(text))?.hasCredentials == true
  }
}
