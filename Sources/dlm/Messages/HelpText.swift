import ArgumentParser
import FoundationEssentials
import TerminalProgress

/// The parser's help in the order in which it is read: how to call a command, examples, its options in sections of use,
/// and then what else there is to know.
struct HelpText {
  /// The parser wraps lines without regard to columns, so it gets more room than it needs.
  static let unwrapped = 1 << 16
  /// Where the parser begins what it says of an option.
  private static let column = 26

  private let usage: String
  private let about: [String]
  /// Sections without the options that `sections` has.
  private var others: [String] = []
  private var options: [String: Substring] = [:]
  private let isOfGet: Bool

  private static var get: HelpText? { HelpText(DLM.helpMessage(for: GetCommand.self, columns: unwrapped)) }

  /// - Returns: nil for what is no help: a version, a script.
  private init?(_ text: String) {
    let paragraphs = text.split(separator: "\n\n").map { String($0) }
    guard text.hasPrefix("OVERVIEW: "), let place = paragraphs.firstIndex(where: { $0.hasPrefix("USAGE: ") })
    else { return nil }
    usage = paragraphs[place]
    isOfGet = usage.hasPrefix("USAGE: dlm get ")
    let get = isOfGet ? nil : Self.get
    about = [String(paragraphs[0].dropFirst("OVERVIEW: ".count))] + paragraphs[1..<max(1, place)]
    let named = Set(OptionTable.sections.flatMap(\.names))
    for section in paragraphs[(place + 1)...] {
      var rest: [Substring] = []
      // What is indented more belongs to the line before it.
      for element in section.split(separator: /:?\n(?! {8})/) {
        let name = element.prefixMatch(of: /\ {2}(?:-\w, )?--([\w.-]+)/).map { String($0.1) }
        if let name, named.contains(name), isOfGet || get?.options[name] == element {
          options[name] = element
        } else {
          rest.append(element)
        }
      }
      if rest.count > 1 || section.hasPrefix(" ") { others.append(rest.joined(separator: "\n")) }
    }
  }

  /// - Parameter text: the parser's, not wrapped. What is no help is shown as it is.
  static func shown(_ text: String, _ words: [String]) -> String {
    guard let help = HelpText(text) else { return text }
    let isBrief = words.isEmpty || words.prefix { $0 != "--" }.contains("-h")
    if isBrief, ["USAGE: dlm <", "USAGE: dlm get "].contains(where: help.usage.hasPrefix) { return screen }
    let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
    return help.whole(columns: columns ?? StandardOutput.terminal?.columns ?? 80)
  }

  private func whole(columns: Int) -> String {
    var sections = OptionTable.sections.compactMap { title, names in
      let lines = names.compactMap { options[$0] }
      return lines.isEmpty ? nil : "\(title)\n\(lines.joined(separator: "\n"))"
    }
    // Explained once; the last section is HELP.
    if !isOfGet, sections.count > 1 {
      let names = OptionTable.rows.map(\.name).filter { options[$0] != nil }.map { "--\($0)" }
      sections = ["As in dlm get (see dlm get --help): \(names.joined(separator: ", "))"] + sections.suffix(1)
    }
    let head = about.prefix { $0.prefixMatch(of: /(?!EXAMPLES)[A-Z]{3}/) == nil }
    return ([usage] + head + others + sections + about.dropFirst(head.count)).joined(separator: "\n\n")
      .replacing(". (values: ", with: " (values: ").replacing(". (default: ", with: " (default: ")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .flatMap { Self.wrapped(String($0), columns) }.joined(separator: "\n")
  }

  /// The options of every day, on 24 lines of 80 columns with the prompt below.
  private static var screen: String {
    let get = get
    let options = OptionTable.sections.flatMap(\.names).filter(OptionTable.daily.contains)
      .compactMap { get?.options[$0] }.map { $0.prefix(column) + brief($0.dropFirst(column), within: 80 - column) }
    let commands = DLM.configuration.subcommands.compactMap { $0.configuration.commandName }
      .filter { $0 != "get" && $0 != "completion" }
    return
      (["USAGE: dlm [get] [<options>] [<source> ...]   (a list, a URL, or -: a pipe)"] + options
      + ["Commands: \(commands.joined(separator: ", "))", "Everything: dlm get --help, dlm COMMAND --help"])
      .joined(separator: "\n")
  }

  /// As many clauses of a text as there is room for.
  static func brief(_ text: Substring, within room: Int) -> Substring {
    let ends = text.matches(of: /[,;:.](?: |$)(?![^(]*\))| \(/).map(\.range.lowerBound)
    let end = ends.last { text.distance(from: text.startIndex, to: $0) <= room }
    return end.map { text[..<$0] } ?? (text.count <= room ? text : text.prefix(room - 1) + "…")
  }

  private static func wrapped(_ line: String, _ columns: Int) -> [String] {
    guard line.count > columns else { return [line] }
    let label = line.hasPrefix("  -") ? line.prefix(column) : line.prefixMatch(of: #/.* {2}/#)?.output ?? ""
    return TextWrap.wrapped(String(line[label.endIndex...]), columns, behind: String(label))
  }
}

/// What dlm has for an option that it does not know: words of curl, wget and aria2, beginnings, and slips.
enum OptionHint {
  /// A line an answer, behind the options that it is for.
  private static let table = """
    -c -C --continue --continue-at --resume: dlm always resumes; no option is needed
    -i --input-file: a list needs no option: dlm get LIST
    -O --output-document --remote-name --remote-name-all: files are named by their URLs; -o NAME names a single one
    -P --directory-prefix --dir --output-dir: -d DIR chooses the folder
    -x --max-connection-per-server: --per-host N limits the connections to one host (curl's -x is --proxy URL)
    -L --location --max-redirs --max-redirect: redirects are followed; no option is needed
    -Z --parallel --parallel-immediate: files are downloaded in parallel; -j N says how many at once
    --parallel-max --max-concurrent-downloads --threads --connections --concurrency: -j N says how many at once
    --min-split-size --num-connections: -s N says in how many segments a large file is downloaded
    -k --no-check-certificate --check-certificate: --insecure skips that check
    --rate --max-speed --bwlimit --max-download-limit --max-overall-download-limit: --limit-rate RATE is for all files
    -b --cookie --load-cookies --save-cookies: --cookie-jar FILE reads and keeps cookies
    -e --referer: -H 'Referer: URL' sends one
    -u --user --password --http-user --http-passwd --http-password: --netrc-file FILE has logins, and --netrc ~/.netrc
    -U --proxy-user --proxy-passwd --proxy-password: user and password stand before the host in the URL of --proxy
    --noproxy --no-proxy: NO_PROXY in the environment names hosts that need no proxy; --proxy '' uses none
    -X --request --data --data-raw --data-binary --post-data --post-file --form: dlm sends GET requests only
    --ftp --ftps --ftp-pasv --ssh --sftp: dlm downloads over http and https only
    --compressed --compression --http-accept-gzip: what a server compressed unasked is decompressed; no option is needed
    -f --fail --fail-with-body: an error page is never saved as the file; no option is needed
    -S --silent --show-error --no-verbose -nv: -q shows failures only
    -N --timestamping --conditional-get: unchanged files are not downloaded again; no option is needed
    -nc --no-clobber --allow-overwrite --auto-file-renaming: --on-conflict says what to do: rename, skip, overwrite, ask
    -t --tries --max-tries --retry --retry-delay --retry-wait --waitretry: --retries N; dlm chooses the pauses
    -T --timeout --read-timeout: --connect-timeout and --stall-timeout, or --max-time for a whole file
    -y -Y --speed-limit --speed-time --lowest-speed-limit: --min-rate RATE fails a file that is slower for 30 s
    -I --head --spider: --dry-run shows what would be downloaded
    -r -p --recursive --mirror -A: --accept '*.pdf' URL downloads matching links of a page; --depth 3 follows its folders
    -p --page-requisites: --accept '*' URL downloads the links and images of a page
    -l --level --no-parent: --depth N follows the folders of a page, with --accept '*.pdf'
    --http-proxy --https-proxy --all-proxy: --proxy URL is for every URL
    --edit: dlm config set NAME VALUE changes ~/.config/dlm/dlm.conf
    """

  /// Has the parser's message that there is no such option end with what there is for it. Its own suggestion, which may
  /// be of another spelling, stays only if that is near.
  static func added(to message: String, _ words: [String]) -> String {
    let first = CommandLineParse.withCommand(words).first ?? ""
    let isOfGet = first == "get" || first == "config" || first.hasPrefix("-")
    return message.replacing(/(Unknown option '([^']+)')(?:\. Did you mean '([^']+)'\?)?/) { match in
      let near = match.3.flatMap { NearestWord.to(Self.name(match.2), among: [Self.name($0)]) }
      return match.1 + (isOfGet ? answer(to: match.2) : near.map { ". Did you mean --\($0)?" } ?? "")
    }
  }

  private static func name(_ option: Substring) -> String { String(option.drop { $0 == "-" }) }

  private static func answer(to typed: Substring) -> String {
    if OptionTable.rows.contains(where: { $0.isSpelled(typed) }) { return ": write it after dlm get" }
    let rows = table.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
      .map { (words: $0[0].split(separator: " "), answer: $0[1]) }
    func known(_ word: Substring) -> String? { rows.first { $0.words.contains(word) }.map { ": \($0.answer)" } }
    // `-x4`: the letter and its value.
    guard typed.hasPrefix("--") else { return known(typed) ?? known(typed.prefix(2)) ?? "" }
    let own = NearestWord.to(name(typed), among: OptionTable.rows.map(\.name) + ["version", "help"])
    let other = NearestWord.to(name(typed), among: rows.flatMap(\.words).filter { $0.hasPrefix("--") }.map(name))
    return known(typed) ?? own.map { ". Did you mean --\($0)?" } ?? other.flatMap { known("--\($0)"[...]) } ?? ""
  }
}
