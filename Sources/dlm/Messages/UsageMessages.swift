import ArgumentParser
import CurlTransport
import DownloadModel
import FileReceiving
import SystemPackage

/// Messages about a command line, and about the files that it names, before anything is fetched.
enum UsageMessages {
  /// A mistake in the one voice of errors: `dlm: …`, as what follows a colon is written.
  static func mistake(_ message: some StringProtocol) -> String {
    let (first, rest) = (message.prefix(1), message.dropFirst())
    let start = rest.first?.isLowercase == true ? first.lowercased() : String(first)
    return "dlm: " + start + (rest.last == "." ? rest.dropLast() : rest)
  }

  /// What the parser says of a mistake, without its usage text: what, and the option's help or where there is more.
  static func lines(ofParser text: String) -> [String] {
    let hasHelp = text.contains("\nHelp:")
    return text.split(separator: "\n").compactMap { line -> String? in
      if line.hasPrefix("Error: ") { return mistake(line.dropFirst(7)) }
      if line.hasPrefix("Help:") { return "  " + line.dropFirst(5).drop { $0 == " " } }
      guard !hasHelp, line.hasPrefix("  See '") else { return nil }
      return String(line).replacing("'", with: "").replacing(" for more information.", with: "")
    }
  }

  static func unreadable(_ option: String, _ path: String, _ cause: String) -> String {
    "\(option) \(path) cannot be read: \(cause)"
  }

  static let notRegular = "it is not a regular file"

  static func cause(_ refusal: UserFile.Refusal) -> String {
    switch refusal {
    case .system(let error): error.description
    case .distrusted(let why): cause(why)
    case .longer(let limit): "it is longer than \(limit / 1024) KiB"
    }
  }

  static func cause(_ why: Distrust) -> String {
    switch why {
    case .notRegular: notRegular
    case .otherUser: "it belongs to another user; copy it, if you trust what it says"
    case .othersWrite: "others can write it; chmod go-w makes it yours alone"
    }
  }

  /// What a value may be, for one that is none.
  static func possible(_ type: any ExpressibleByArgument.Type, nearly text: String) -> String {
    let choices = type.allValueStrings
    if !choices.isEmpty {
      let meant = NearestWord.to(text, among: choices).map { ". Did you mean \($0)?" } ?? ""
      return choices.joined(separator: ", ") + meant
    }
    if type == Parallelism.self || type == Jobs.self { return "a number from 1, or auto" }
    if type == Seconds.self { return "seconds, such as 30 or 0.5" }
    if type == UInt.self { return "a number from 0" }
    if type == ByteRate.self || type == ByteCount.self { return "bytes, such as 500K or 5M" }
    if type == HookCommand.self { return "a command and its arguments, with quotes around blanks" }
    if type == ThrottlingStatuses.self { return "statuses from 400, such as 403 or 403,5xx" }
    if type == TimeSpan.self { return "a time with its unit, such as 30s, 10m or 6h" }
    return "yes or no"
  }

  static func header(_ name: String, meddlesWith matter: ReservedMatter) -> String {
    let why =
      switch matter {
      case .proxyLogin:
        "it would go to the server, not to the proxy; give the proxy's login in its address: --proxy, user "
          + "and password before the host"
      case .range: "dlm asks for ranges itself, and fetches whole files; leave it out"
      case .condition: "dlm asks itself whether a file has changed; to fetch it in any case give --refresh"
      case .coding: "files are kept as the server has them, so that they can be compared and resumed; leave it out"
      case .body: "a download sends no body; leave it out"
      }
    return "--header \(name): \(why)"
  }

  static func text(_ why: ProxyAddress.Malformed) -> String {
    switch why {
    case .scheme(let scheme):
      "\(scheme) is not a kind of proxy; use \(ProxyAddress.Scheme.allCases.map(\.rawValue).joined(separator: ", "))"
    case .noTLS: "this libcurl cannot use TLS with a proxy; give an http or a SOCKS proxy"
    case .noHost: "the host is missing; a proxy looks like http://host:3128"
    case .badHost: "its host is not valid; a proxy looks like http://host:3128"
    case .badPort: "its port is not a number from 1 to 65535; a proxy looks like http://host:3128"
    case .path: "a proxy has no path; write /, ? and # of its password as %2F, %3F and %23"
    case .controlCharacter: "it has a blank or a control character in it; write a blank of its password as %20"
    }
  }

  static func noRun(in folder: String) -> String {
    "no run is under way in \(folder) that addresses could be added to; dlm get ADDRESS… begins one"
  }

  /// Removes secrets from the option parser's own messages, which repeat what was typed.
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
        isValue = value == nil
        found.append(String(value ?? ""))
      } else if argument.hasPrefix("-") {
        // A cluster: `-vH`, `-HX-Key: 1`, `-vHX-Key: 1`; or a letter of curl's, such as `-uNAME:PASSWORD`.
        guard let end = argument.dropFirst().firstIndex(where: takesSecret) else { continue }
        let value = argument[argument.index(after: end)...]
        isValue = argument[end] == "H" && value.isEmpty
        if argument[end] == "H" || value.contains(":") { found.append(String(value)) }
      } else if looksLikeHeader(argument) || Redaction.isLoginWithoutScheme(argument) {
        found.append(argument)
      }
    }
    // `-H @FILE` names a file, which messages have to name too.
    return found.filter { !$0.isEmpty && $0.first != "@" }.sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Also of what is nearly an option's name, since the parser echoes the value of a mistyped one.
  private static func takesSecret(_ name: Substring) -> Bool {
    ["h", "pro", "use"].contains { name.lowercased().hasPrefix($0) }
      && !["help", "http2", "heuristic", "progress"].contains(name)
  }

  private static func takesSecret(_ letter: Character) -> Bool {
    letter == "H" || !OptionTable.rows.contains { $0.letter == letter }
  }

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

/// The word that was likely meant where one was mistyped.
enum NearestWord {
  static func to(_ typed: String, among words: some Sequence<String>) -> String? {
    let typed = Array(typed.lowercased().utf8.prefix(longest + 1))
    guard !typed.isEmpty, typed.count <= longest else { return nil }
    let all = words.map { word in
      let letters = Array(word.lowercased().utf8)
      return (word: word, letters: letters, slips: slips(typed, letters))
    }
    // One slip in three letters, and one in a shorter word.
    let near = all.filter { $0.slips <= max(1, min(typed.count, $0.letters.count) / 3) }.min { $0.slips < $1.slips }
    // What was only begun counts too: "comp" is compare.
    return (near ?? all.first { typed.count >= 2 && $0.letters.starts(with: typed) })?.word
  }

  private static let longest = 40

  /// Letters to be added, dropped, changed or swapped with their neighbour (optimal string alignment).
  private static func slips(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for row in 1...max(1, one.count) where row <= one.count {
      var now = [row]
      for column in 1...max(1, other.count) where column <= other.count {
        let isSame = one[row - 1] == other[column - 1]
        var least = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
        if row > 1, column > 1, one[row - 1] == other[column - 2], one[row - 2] == other[column - 1] {
          least = min(least, beforeLast[column - 2] + 1)
        }
        now.append(least)
      }
      (beforeLast, last) = (last, now)
    }
    return last[other.count]
  }
}
