// Long because: all that may be wrong with a command line and its settings is said here, in one voice.

import ArgumentParser
import CurlTransport
import DownloadModel
import SystemPackage
import TerminalProgress

/// Messages about a command line, and about the files that it names, before anything is fetched: option, value, cause,
/// remedy.
enum UsageMessages {
  // MARK: Commands

  /// - Parameter word: the first word of a command line, which is none of what can stand there.
  static func unknownWord(_ word: String, commands: [String]) -> String {
    let quoted = "\"\(word)\""
    if let meant = NearestWord.to(word, among: commands) {
      return "\(quoted) is no command, and no list of that name is here. Did you mean \"dlm \(meant)\"?"
    }
    return
      "\(quoted) is no command (\(commands.joined(separator: ", "))), no list (there is no such file), and "
      + "no address (those begin with http:// or https://). \(remedy(word))"
  }

  private static func remedy(_ word: String) -> String {
    guard let dot = word.firstIndex(of: "."), dot != word.startIndex, word.last != "." else {
      return "Name a list that is here: dlm get LIST; or see what dlm does: dlm --help."
    }
    return "If it is an address, write https://\(word); if it is a list, look at its name and folder."
  }

  static func unknownCommand(_ word: String, of command: String, commands: [String]) -> String {
    let known = "dlm \(command) knows \(commands.joined(separator: ", "))."
    let meant = NearestWord.to(word, among: commands).map { " Did you mean \"dlm \(command) \($0)\"?" }
    return "\"\(word)\" is no command of dlm \(command).\(meant ?? " \(known)")"
  }

  /// Behind what is wrong with a command line.
  static func seeHelp(_ command: String) -> String { "  See '\(command) --help' for more information." }

  // MARK: Options

  static let noMemoryFolder =
    "--discard needs /dev/shm, a folder in memory, which is not there or may not be written; without it the files go "
    + "to a scratch folder below $TMPDIR"

  static let noRuns = "--runs needs at least 1."
  static func noReportForm(_ path: String) -> String {
    "--report \(path): the ending says what is written, and this is none of .html, .json and .md."
  }

  static let badLoss = "--loss takes per cent, from 0 to 50."
  static let noWorkers = "--workers needs at least 1."

  static let negativeWarmUps = "--warmup needs at least 0."

  static func severalWidths(_ widths: [Parallelism]) -> String {
    "--jobs \(widths.map(\.description).joined(separator: ",")) names several numbers, and a download takes one: "
      + "name one, or compare them with dlm compare."
  }

  static let offlineWithoutCache =
    "--offline takes files from the cache, and --no-cache forbids it: use one of the two."

  static let offlineAsking =
    "--offline asks no server, and --revalidate asks about everything: use one of the two."

  static let offlineAnew = "--offline asks no server, and --refresh asks anew: use one of the two."

  static func noFileName(_ name: String) -> String {
    "--output \"\(name)\" is no file name; name the folder with --directory, and the file without slashes."
  }

  static let outputToPipe =
    "--output - would be standard output, and dlm writes files only; give a name, or take curl for a pipe."

  static let outputOfList = "--output names the file of a single address; use --directory for a list."
  static let checksumOfList = "--checksum is of a single address; use --checksums FILE for a list."

  // MARK: Watching

  static let refreshWithoutWatch =
    "--refresh-every asks again in a run that goes on: give --watch with it, or leave it out."

  static let refreshWithoutCache =
    "--refresh-every asks about what the cache knows, and --no-cache forgets it: use one of the two."

  static let refreshAllTheTime =
    "--refresh-every needs a time between two rounds, such as 30s, 10m or 6h; without it nothing is asked again."

  static let watchingInput =
    "--watch needs a list that can change, and standard input is read once: name a list file."

  static let watchingNothing =
    "--watch needs a list to watch, and an address has none: name a list file, or ask again about the address "
    + "with --refresh-every 10m."

  static func watchingAddress(_ list: String) -> String {
    "--watch cannot see the list at \(list) change: say how often to ask for it, --refresh-every 10m."
  }

  static func watchingNoFile(_ path: String) -> String {
    "--watch needs a list that can change, and \(path) is no regular file (a pipe or a folder): name a list "
      + "file."
  }

  // MARK: Settings

  static func configTakesNoSource(_ source: String) -> String {
    "dlm config shows settings and takes no list: leave \"\(Redaction.redactedAddress(source))\" out."
  }

  static func noValue(
    _ text: String, for key: String, from origin: SettingOrigin, _ type: any ExpressibleByArgument.Type
  ) -> String {
    from(origin, "\"\(text)\" is no value for \(key). \(expected(type, nearly: text))")
  }

  /// What may stand there instead.
  private static func expected(_ type: any ExpressibleByArgument.Type, nearly text: String) -> String {
    let choices = type.allValueStrings
    if !choices.isEmpty {
      let meant = NearestWord.to(text, among: choices).map { " Did you mean \($0)?" } ?? ""
      return "Possible: \(choices.joined(separator: ", ")).\(meant)"
    }
    if type == Parallelism.self || type == Jobs.self { return "Possible: a number from 1, or auto." }
    if type == Seconds.self { return "Possible: seconds, such as 30 or 0.5." }
    if type == Count.self { return "Possible: a number from 0." }
    if type == ByteRate.self || type == ByteCount.self { return "Possible: bytes, such as 500K or 5M." }
    if type == TimeSpan.self { return "Possible: a time with its unit, such as 30s, 10m or 6h." }
    return "Possible: yes, no."
  }

  static func from(_ origin: SettingOrigin, _ message: String) -> String { "\(origin.name): \(message)" }

  /// - Parameter keys: those of its settings that are no options.
  static func conflict(_ message: String, _ keys: [(String, SettingOrigin)]) -> String {
    if keys.isEmpty { return message }
    return message + " (" + keys.map { "\($0): \($1.name)" }.joined(separator: ", ") + ")"
  }

  static func unknownVariable(_ name: String) -> String {
    let known = OptionTable.settingKeys.map(SettingsSources.variable) + ["DLM_CERT_PASSPHRASE"]
    let meant = NearestWord.to(name, among: known.sorted()).map { "; did you mean \($0)?" }
    return "dlm: \(name) in the environment is no setting of dlm, and does nothing\(meant ?? "")"
  }

  static func badUserAgent(_ text: String) -> String {
    "--user-agent \"\(text)\" holds a line end or a control character: leave it out."
  }

  static func noVersionLeft(newest: String, oldest: String) -> String {
    "--tls-max \(newest) allows nothing that --tlsv\(oldest) asks for: leave one of them out."
  }

  static func unreadable(_ option: String, _ path: String, _ cause: String) -> String {
    "\(option) \(path) cannot be read: \(cause)."
  }

  // MARK: Header lines

  static let headerOption = "--header (or -H)"
  static func place(_ path: String, line: Int) -> String { "\(path), line \(line)" }

  static func noHeaderLine(_ place: String) -> String {
    "\(place) holds no header line: it looks like Name: value, on one line and without control characters."
  }

  static let notUTF8 = "it is not UTF-8"

  static func header(_ name: String, meddlesWith matter: ReservedMatter) -> String {
    let why =
      switch matter {
      case .proxyLogin:
        "it would go to the server, not to the proxy; give the proxy's login in its address: --proxy, user "
          + "and password before the host"
      case .range:
        "dlm asks for parts itself, and keeps a part as a part; fetch the whole file without it"
      case .condition:
        "dlm asks itself whether a file has changed; to fetch it in any case give --refresh"
      case .coding:
        "files are kept as the server has them, so that they can be compared and gone on with; leave it out"
      case .body: "a download sends no body; leave it out"
      }
    return "--header \(name): \(why)"
  }

  // MARK: Proxies

  static func proxy(_ origin: SettingOrigin) -> String {
    if case .file = origin { "\(origin.name): proxy" } else { origin.name }
  }

  /// - Parameters:
  ///   - text: the proxy's address, without its login.
  ///   - place: the option, variable or file that it is from.
  static func noProxy(_ text: String, from place: String, _ why: ProxyAddress.Malformed) -> String {
    "\(place) \"\(text)\": \(Self.text(why))."
  }

  private static func text(_ why: ProxyAddress.Malformed) -> String {
    switch why {
    case .scheme(let scheme):
      "\(scheme) is no kind of proxy; give one of "
        + "\(ProxyAddress.Scheme.allCases.map(\.rawValue).joined(separator: ", "))"
    case .noTLS: "this libcurl speaks no TLS with a proxy; give an http or a SOCKS proxy"
    case .noHost: "it names no host; a proxy looks like http://host:3128"
    case .badHost: "its host is none; a proxy looks like http://host:3128"
    case .badPort: "its port is no number from 1 to 65535; a proxy looks like http://host:3128"
    case .path:
      "a proxy has no path; if a / ? or # is part of its password, write %2F %3F or %23"
    case .controlCharacter: "a blank or a control character stands in it; in a password write %20"
    }
  }

  // MARK: Certificates

  static func noCertificate(_ path: String) -> String {
    "--cert \(path) is neither PEM nor PKCS #12: name a file with your certificate."
  }

  static func noPrivateKey(_ certificate: String, key: String?) -> String {
    key.map { "--key \($0) holds no private key in PEM: name the file that does." }
      ?? "--cert \(certificate) holds no private key: name its file with --key."
  }

  static func keyOfPKCS12(_ certificate: String) -> String {
    "--key is for a certificate in PEM: \(certificate) is PKCS #12, with its key in it."
  }

  static func keyAlone(_ key: String) -> String { "--key \(key) goes with a --cert: name that too." }

  static func locked(_ path: String) -> String {
    "\(path) is locked with a pass phrase: name a file that holds it with --cert-passphrase-file, or set "
      + "DLM_CERT_PASSPHRASE."
  }

  /// `curl --cert me.pem:secret` puts the pass phrase behind a colon. It is not said again.
  static func unreadableCertificate(_ option: String, _ path: String, _ cause: String) -> String {
    if option == "--cert", let colon = path.firstIndex(of: ":") {
      return
        "--cert \(path[..<colon]):… cannot be read: \(cause). It takes a file only. A pass "
        + "phrase on the command line is seen by every user; name a file that holds it with "
        + "--cert-passphrase-file, or set DLM_CERT_PASSPHRASE."
    }
    return unreadable(option, path, cause)
  }

  // MARK: Logins and cookies

  static let notRegular = "it is no regular file"
  static func longer(than limit: Int) -> String { "it is longer than \(limit / 1024) KiB" }

  static func unusableNetrc(_ path: String, _ cause: String) -> String {
    "--netrc-file \(path) cannot be used: \(cause). Name the file with the logins."
  }

  static func unusableJar(_ path: String, _ refusal: CookieJarFile.Refusal) -> String {
    "--cookie-jar \(path) cannot be used: \(text(refusal))"
  }

  static func unwritableJar(_ path: String, _ cause: String) -> String {
    "--cookie-jar \(path) could not be written: \(cause) (its folder). Name a file in a folder of yours."
  }

  static func text(_ refusal: CookieJarFile.Refusal) -> String {
    switch refusal {
    case .file(.system(.tooManySymbolicLinkLevels)): "it is a link. Name the file itself."
    case .file(let why): "\(cause(why)). Name a file of yours."
    case .foreignFormat:
      "it holds something else than cookies in Netscape's format. Name another file."
    case .held: "another process holds it"
    }
  }

  // MARK: Checksum lists

  static func unreadableChecksums(_ path: String, _ error: any Error) -> String {
    let cause = (error as? Errno).map { "\($0)" } ?? "\(error)"
    return "dlm: \(path) cannot be read: \(cause); name a checksum list as sha256sum writes it"
  }

  /// A few of a list's lines that do not count.
  static func checksumsLeftOut(_ path: String, malformed: [Int], ambiguous: [String]) -> [String] {
    malformed.prefix(5).map { "\(path):\($0): not a checksum line; left out" }
      + ambiguous.prefix(5).map { "\(path): \($0) stands there with different checksums; none is used" }
  }

  static func noChecksums(_ path: String) -> String {
    "dlm: \(path) holds no checksum; its lines look like \"HEX  name\""
  }

  // MARK: Settings files

  static func unknownKey(_ key: String, at place: SettingOrigin) -> String {
    let meant = NearestWord.to(key, among: OptionTable.settingKeys.sorted()).map { ": did you mean \($0)?" }
    return "\(place.name): \(key) is no setting of dlm; left out\(meant ?? "")"
  }

  static func noSetting(at place: SettingOrigin) -> String {
    "\(place.name): this is no setting; write name = value, or # before a comment."
  }

  static func noValue(of key: String, at place: SettingOrigin) -> String {
    "\(place.name): \(key) has no value; write one behind the =, or # before the line."
  }

  static func oldSettings(_ path: FilePath, now: FilePath) -> String {
    "dlm: \(path) is not read: settings are lines name = value in \(now.lastComponent?.string ?? "dlm.conf") now"
  }

  static func uncountedKey(
    _ key: String, _ value: String, _ setting: OptionTable.Setting, at place: SettingOrigin
  ) -> String {
    var what = "\(key) does not count in a working folder"
    switch setting {
    case .bounded(.keeping): what = "\(key): \(value) does not count in a working folder"
    case .bounded:
      what =
        "\(key): \(value) does not count, as a working folder loosens nothing that your own dlm.conf says"
    default: break
    }
    return
      "\(place.name): \(what); set it in your own dlm.conf, in \(SettingsSources.variable(key)), or with "
      + "--\(key)"
  }

  static func uncountedStream(_ key: String, _ path: String, at place: SettingOrigin) -> String {
    "\(place.name): \(key): \(path) does not count, since it is no regular file; name one"
  }

  static func settingsLink(_ path: FilePath) -> String {
    "\(path) is a link, and not read: a settings file of the working folder is a file there"
  }

  static func unreadableSettings(_ path: FilePath, _ cause: String) -> String {
    "The settings file \(path) cannot be read: \(cause). Mend its rights or move it away."
  }

  static func distrusted(_ path: FilePath, _ why: Distrust) -> String {
    "\(path) is not read: \(cause(why))"
  }

  static func cause(_ refusal: UserFile.Refusal) -> String {
    switch refusal {
    case .system(let error): error.description
    case .distrusted(let why): cause(why)
    case .longer(let limit): longer(than: limit)
    }
  }

  static func cause(_ why: Distrust) -> String {
    switch why {
    case .notRegular: notRegular
    case .otherUser: "it belongs to another user; copy it, if you trust what it says"
    case .othersWrite: "others can write it; chmod go-w makes it yours alone"
    }
  }

  // MARK: The last list

  static let nothingRemembered =
    "There is nothing to get: name a list or an address (dlm get urls.txt), or - to read a list from a pipe."

  static let pipedListGone =
    "The last list of this folder came through a pipe and is no longer there: pipe it in again (dlm get -)."

  static let pipedList = "the list that came through a pipe"

  static func optionsDoNotFit(_ parsersMessage: String) -> String {
    "The options of the last run do not go with these: \(parsersMessage) Name the list, and its options are "
      + "forgotten."
  }

  static func withheld(_ missing: [Withheld]) -> String {
    let names = missing.map { withheld in
      switch withheld {
      case .header(let name): "-H '\(TerminalText.sanitized(name)): …'"
      case .proxy: "--proxy with its login"
      case .addressLogins: "the logins of the addresses (name them again, or use --netrc-file)"
      }
    }
    return "The last run had what dlm does not write down: give it again: \(names.joined(separator: ", "))."
  }

  // MARK: Files that are written

  static func isFolder(_ option: String, _ path: String) -> String {
    "\(option) \(path) is a folder; name a file."
  }
  static func isLink(_ option: String, _ path: String) -> String {
    "\(option) \(path) is a link; name the file itself."
  }

  static func noDescriptor(_ option: String, _ text: String) -> String {
    "\(option) \"\(text)\" names no place: give a file, or fd:N for a descriptor that you have opened (fd:3)."
  }

  static func closedDescriptor(_ option: String, _ number: Int32) -> String {
    "\(option) fd:\(number): that descriptor is not open for writing: open it, as in dlm … \(number)>FILE."
  }

  /// - Parameter other: a place where the same file is named, as `--failed again.txt`.
  static func writesInput(_ output: String, _ other: String) -> String {
    "\(output) would overwrite what is read: \(other) is the same file. Name another file."
  }

  static func oneOutput(_ output: String, _ other: String) -> String {
    "\(output) and \(other) are one file: name two."
  }
  static func descriptor(_ number: Int32) -> String { "descriptor \(number)" }
}

// Removes the user's secrets from the option parser's own messages, which repeat what was typed.
extension UsageMessages {
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
        // A cluster: `-vH`, `-HX-Key: 1`, `-vHX-Key: 1`; or a letter of curl's, such as `-uNAME:PASSWORD`.
        guard let end = argument.dropFirst().firstIndex(where: takesSecret) else { continue }
        let value = argument[argument.index(after: end)...]
        if argument[end] != "H" {
          if value.contains(":") { found.append(String(value)) }
        } else if value.isEmpty {
          isValue = true
        } else {
          found.append(String(value))
        }
      } else if looksLikeHeader(argument) || Redaction.isLoginWithoutScheme(argument) {
        found.append(argument)
      }
    }
    // `-H @FILE` names a file, which messages have to name too.
    return found.filter { !$0.isEmpty && $0.first != "@" }.sorted { $0.utf8.count > $1.utf8.count }
  }

  /// Also what is nearly the option's name: the parser echoes the value of one that is mistyped.
  private static func takesSecret(_ name: Substring) -> Bool {
    ["h", "pro", "use"].contains { name.lowercased().hasPrefix($0) } && name != "help"
      && name != "http2"
  }

  /// `-H`, and what dlm has no letter for.
  private static func takesSecret(_ letter: Character) -> Bool {
    letter == "H" || !OptionTable.rows.contains { $0.letter == letter }
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
