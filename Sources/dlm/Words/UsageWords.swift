import DownloadModel

/// The option parser's own messages echo what was typed: this takes out what may be a secret of the user's.
enum UsageWords {
  /// - Parameters:
  ///   - message: of the parser.
  ///   - arguments: of this process, without its own name.
  static func withoutSecrets(_ message: String, _ arguments: [String]) -> String {
    secrets(in: arguments).reduce(message) { $0.replacing($1, with: "…") }
  }

  /// What may be a secret, longest first, so that none hides a part of another.
  static func secrets(in arguments: [String]) -> [String] {
    var found: [String] = []
    var isValue = false
    for argument in arguments {
      if isValue { found.append(argument) }
      isValue = false
      if argument.hasPrefix("--") {
        let (name, value) = split(argument.dropFirst(2), at: "=")
        guard takesSecret(name) else { continue }
        if let value { found.append(String(value)) } else { isValue = true }
      } else if argument.hasPrefix("-") {
        // A cluster: `-vH`, `-HX-Key: 1`, `-vHX-Key: 1`.
        guard let end = argument.firstIndex(of: "H") else { continue }
        let value = argument[argument.index(after: end)...]
        if value.isEmpty { isValue = true } else { found.append(String(value)) }
      } else if looksLikeHeader(argument) || Redaction.isLoginWithoutScheme(argument) {
        found.append(argument)
      }
    }
    // `-H @FILE` names a file, which messages have to name too.
    return found.filter { !$0.isEmpty && $0.first != "@" }.sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Also what is nearly the option's name: a slip of the pen is when its value is echoed.
  private static func takesSecret(_ name: Substring) -> Bool {
    ["h", "pro", "use"].contains { name.lowercased().hasPrefix($0) } && name != "help"
      && name != "http2"
  }

  /// `Name: value`, which is no file's name and no address.
  private static func looksLikeHeader(_ text: String) -> Bool {
    let (name, value) = split(text[...], at: ":")
    guard let value, !value.hasPrefix("//"), !name.isEmpty, !name.contains(where: { $0 == "/" || $0 == " " })
    else { return false }
    return value.first == " "
      || ["authorization", "cookie", "proxy-authorization"].contains(name.lowercased())
      || name.lowercased().hasPrefix("x-")
  }

  private static func split(_ text: Substring, at separator: Character) -> (Substring, Substring?) {
    guard let end = text.firstIndex(of: separator) else { return (text, nil) }
    return (text[..<end], text[text.index(after: end)...])
  }
}
