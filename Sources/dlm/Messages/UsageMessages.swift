import ArgumentParser
import CurlTransport
import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// Messages about a command line, and about the files that it names, before any download.
enum UsageMessages {
  /// Formats a mistake like all errors: `dlm: …`, with the spelling of a text after a colon.
  static func mistake(_ message: some StringProtocol) -> String {
    let first = message.prefix(1)
    let rest = message.dropFirst()
    let start = rest.first?.isLowercase == true ? first.lowercased() : String(first)
    return "dlm: " + start + (rest.last == "." ? rest.dropLast() : rest)
  }

  /// The parser's message about a mistake, without its usage text: the mistake, and the option's help or where to find
  /// more.
  static func lines(ofParser text: String) -> [String] {
    // Names the option, the value, and the allowed values, as for a setting.
    if let bad = text.firstMatch(of: /Error: The value '(.*?)' is invalid for '(-[^ ']+)/),
      let row = OptionTable.rows.first(where: { $0.isSpelled(bad.2) })
    {
      return [mistake("\(row.spelled): \"\(bad.1)\" is not a value for it; use \(row.possible(String(bad.1)))")]
    }
    let hasHelp = text.contains("\nHelp:")
    return text.split(separator: "\n").compactMap { line -> String? in
      if line.hasPrefix("Error: ") { return mistake(line.dropFirst(7)) }
      if line.hasPrefix("Help:") { return "  " + line.dropFirst(5).drop { $0 == " " } }
      guard !hasHelp, line.hasPrefix("  See '") else { return nil }
      return String(line).replacing("'", with: "").replacing(" for more information.", with: "")
        .replacing("dlm get config", with: "dlm config")
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

  /// The allowed values, for the message about a wrong one.
  static func possible(_ type: any ExpressibleByArgument.Type, nearly text: String) -> String {
    let choices = type.allValueStrings
    if !choices.isEmpty {
      let meant = NearestWord.to(text, among: choices).map { ". Did you mean \($0)?" } ?? ""
      return choices.joined(separator: ", ") + meant
    }
    return switch type {
    case Parallelism.self, Jobs.self: "a number from 1, or auto"
    case Seconds.self, TimeSpan.self: "a time such as 30 (seconds), 10m, 1h or 2d"
    case UInt.self: "a number from 0"
    case ResolvedHost.self: "HOST:PORT:ADDRESS, such as example.org:443:192.0.2.1"
    case RateLimit.self: "bytes a second, such as 500K, example.org=5M, 5M@09:00-17:00 or none"
    case RequestRate.self: "requests in a time, such as 2/s, 30/m or example.org=1/s"
    case ByteRate.self, ByteCount.self: "bytes, such as 500K, 5M or 2G"
    case HookCommand.self: "a command and its arguments, with quotes around blanks"
    case ThrottlingStatuses.self: "statuses from 400, such as 403 or 403,5xx"
    case ContentDigest.self: "ALGORITHM:HEX, such as sha256: and 64 digits"
    case ShardArgument.self: "I/N, such as 3/8, or auto"
    case ExpectedTypes.self: "media types, such as image/*"
    case YesOrNo.self: "yes or no"
    default: "what dlm get --help shows"
    }
  }

  static func header(_ name: String, meddlesWith matter: ReservedMatter) -> String {
    let why =
      switch matter {
      case .proxyLogin:
        "it would go to the server, not to the proxy; give the proxy's login in its URL: --proxy, user "
          + "and password before the host"
      case .range: "dlm asks for ranges itself, and downloads whole files; leave it out"
      case .condition: "dlm asks itself whether a file has changed; --refresh downloads it in any case"
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

  /// Why a `HookCommand` cannot run; `nil` if it can. Better reported before hours of downloads than after them.
  static func trouble(_ option: String, _ command: HookCommand, path: String?) -> String? {
    if !command.words.contains(where: { shells.contains(FilePath($0).name[...]) }),
      let word = command.words.first(where: { $0.contains("$DLM_") })
    {
      return "\(option): \(word) needs a shell: sh -c '…'."
    }
    let program = command.words[0]
    let folders = (path ?? "/usr/bin:/bin").split(separator: ":").map { "\($0)/" }
    let isThere = (program.contains("/") ? [""] : folders).contains { folder in
      FilePath(folder + program).fileType == S_IFREG && access(folder + program, X_OK) == 0
    }
    return isThere ? nil : "\(option): there is no program \(program)."
  }

  static func noRun(in folder: String) -> String {
    let place = folder == "." ? "this folder" : folder
    return "no download is running in \(place); start one with dlm get URL"
  }

  private static let listEndings = "txt csv tsv json jsonl xml gz zst xz lst list meta4 metalink md5 sha256"
    .split(separator: " ")
  private static let shells = "sh bash dash zsh ksh fish".split(separator: " ")

  /// The probable meaning of a source that is neither a file nor a URL.
  static func remedy(forMissing source: String) -> String {
    if let first = source.unicodeScalars.first, otherDashes.contains(first) {
      return "if it is an option, write it with a plain hyphen (-)"
    }
    // A colon or a slash is missing: `https//h/x`, `s3:bucket/key`.
    let start = source.prefix { $0 != ":" && $0 != "/" }
    let behind = source[start.endIndex...]
    if let scheme = Address.Scheme(rawValue: start.lowercased()), behind.hasPrefix("//") || behind.hasPrefix(":") {
      return "did you mean \(scheme.rawValue)://\(behind.drop { $0 == ":" || $0 == "/" })?"
    }
    let path = FilePath(source)
    if let near = NearestWord.to(path.name, among: FileManager.default.names(in: path.folder.string)) {
      return "did you mean \(path.removingLastComponent().appending(near))?"
    }
    if source.lowercased().hasPrefix("doi:") {
      return "only Zenodo's DOIs name a list; for other files, see https://doi.org/\(source.dropFirst(4))"
    }
    let (name, rest) = source.halves(at: ":")
    let port = rest.flatMap { UInt16($0.prefix { $0 != "/" }) }
    if let rest, name != "localhost", !name.contains(".") {
      let presets = Preset.allValueStrings
      if let near = NearestWord.to(String(name), among: presets) { return "did you mean \(near):\(rest)?" }
      if port == nil { return "\"\(name)\" is not a preset; presets are \(presets.joined(separator: ", "))" }
    }
    let labels = name.prefix { $0 != "/" }.split(separator: ".", omittingEmptySubsequences: false)
    let isHost = port != nil || labels.count > 1 && !labels.contains("") && !listEndings.contains(labels.last ?? "")
    return isHost ? "if it is a URL, write https://\(source)" : checkName
  }

  /// What word processors make of a typed `-` or `--`.
  private static let otherDashes = "\u{2010}\u{2013}\u{2014}\u{2212}".unicodeScalars

  static let checkName = "check its name"

  /// Removes secrets from the option parser's own messages, which repeat typed text.
  static func withoutSecrets(_ message: String, _ arguments: [String]) -> String {
    secrets(in: arguments).reduce(message) { $0.replacing($1, with: "…") }
  }

  /// Possible secrets, longest first, so that none hides a part of another.
  static func secrets(in arguments: [String]) -> [String] {
    var found: [String] = []
    var isValue = false
    for argument in arguments {
      if isValue { found.append(argument) }
      isValue = false
      if argument.hasPrefix("--") {
        let (name, value) = argument.dropFirst(2).halves(at: "=")
        guard takesSecret(name) else { continue }
        isValue = value == nil
        found.append(String(value ?? ""))
      } else if argument.hasPrefix("-") {
        // A cluster: `-vH`, `-HX-Key: 1`, `-vHX-Key: 1`; or a letter of curl's, such as `-uNAME:PASSWORD`.
        guard let end = argument.dropFirst().firstIndex(where: takesSecret) else { continue }
        let value = argument[argument.index(after: end)...]
        let isOwn = secretLetters.contains(argument[end])
        isValue = isOwn && value.isEmpty
        if isOwn || value.contains(":") { found.append(String(value)) }
      } else if looksLikeHeader(argument) || Redaction.isLoginWithoutScheme(argument) {
        found.append(argument)
      }
    }
    // `-H @FILE` names a file, which messages must also name.
    return found.filter { !$0.isEmpty && $0.first != "@" }.sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Also for a name that nearly matches, because the parser echoes the value of a mistyped option.
  private static func takesSecret(_ name: Substring) -> Bool {
    ["h", "pro", "use"].contains { name.lowercased().hasPrefix($0) }
      && !["help", "http2", "heuristic", "progress"].contains(name)
  }

  private static let secretLetters: Set<Character> = ["H", "u"]

  private static func takesSecret(_ letter: Character) -> Bool {
    secretLetters.contains(letter) || !OptionTable.rows.contains { $0.letter == letter }
  }

  private static func looksLikeHeader(_ text: String) -> Bool {
    let (name, value) = text.halves(at: ":")
    guard let value, !value.hasPrefix("//"), !name.isEmpty, !name.contains(where: { $0 == "/" || $0 == " " })
    else { return false }
    return value.first == " "
      || ["authorization", "cookie", "proxy-authorization"].contains(name.lowercased())
      || name.lowercased().hasPrefix("x-")
  }
}

/// So that a switch finds a type.
private func ~= (wanted: any Any.Type, type: any Any.Type) -> Bool { wanted == type }
