import DownloadModel

/// The command that continues an incomplete run. It is rebuilt from the parsed options, because a secret has many
/// spellings in the typed text (`-vHAuthorization:…`); an ellipsis replaces possible secrets.
struct AgainMessages {
  /// Quoted for a shell.
  let line: String
  /// Options that must be given again; empty if there are none.
  let note: String

  /// - Parameters:
  ///   - isListKept: whether `dlm get` without arguments would use this run's list again.
  ///   - asksServers: omits `--offline`.
  init(_ command: GetCommand, isListKept: Bool = true, asksServers: Bool = false) {
    var words = ["dlm", "get"]
    var hidesSecrets = false
    func shown(_ text: String) -> String {
      let redacted = Redaction.redactedAddress(text)
      let hasLogin = (try? Address(text))?.hasCredentials ?? text.contains("@")
      hidesSecrets = hidesSecrets || hasLogin || redacted.contains(Redaction.mark)
      guard hasLogin else { return redacted }
      let host = redacted.firstRange(of: "://")?.upperBound ?? redacted.startIndex
      return "\(redacted[..<host])\(Redaction.mark)@\(redacted[host...])"
    }
    func shown(header text: String) -> String {
      let header = HeaderArgument(argument: text)
      if header.isFile || Self.harmless.contains(header.name.lowercased()) { return text }
      hidesSecrets = true
      return "\(header.name): \(Redaction.mark)"
    }
    // `dlm get` stores a list from a pipe, if it was read to its end.
    for source in command.sources where command.sources != ["-"] || !isListKept {
      if case .address(let text) = Source(source) { words.append(shown(text)) } else { words.append(source) }
    }
    for row in command.rows where !asksServers || row.name != "offline" {
      for text in row.texts(command) {
        switch row.kind {
        case .flag: words.append(row.spelled)
        case .value, .values: words += [row.spelled, text]
        case .address: words += [row.spelled, shown(text)]
        case .headers: words += ["-H", shown(header: text)]
        case .login:
          words += [row.spelled, Redaction.mark]
          hidesSecrets = true
        }
      }
    }
    let isPiped = command.sources.contains("-") && !isListKept
    line = (isPiped ? "… | " : "") + words.map(CommandLineText.quoted).joined(separator: " ")
    note = [
      isPiped ? "the pipe was not read to its end: send the list again" : nil,
      hidesSecrets ? "secrets are not shown: replace each …" : nil,
    ].compactMap(\.self).joined(separator: "; ")
  }

  /// Header lines whose values select an answer but do not unlock one.
  private static let harmless: Set<String> = [
    "accept", "accept-language", "accept-encoding", "cache-control", "pragma", "user-agent", "dnt",
  ]
}
