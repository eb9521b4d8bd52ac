import FoundationEssentials

/// Hints for unknown options: those of curl, wget and aria2, prefixes, and mistakes.
enum OptionHint {
  /// One answer a line, after the options to which it applies.
  private static let table = """
    -c -C --continue --continue-at --resume: dlm always resumes; no option is needed
    -i --input-file: a list needs no option: dlm get LIST
    -O --output-document --remote-name --remote-name-all: files are named by their URLs; -o NAME names a single one
    -P --directory-prefix --dir --output-dir: -d DIR chooses the folder
    -x --max-connection-per-server: --per-host N limits the connections to one host (curl's -x is --proxy URL)
    -L --location: redirects are followed; no option is needed
    --max-redirect: --max-redirs N limits the redirects in a row
    --inet4-only --prefer-family: -4 uses IPv4 only, and -6 IPv6
    --bind-address: --interface ADDRESS
    -Z --parallel --parallel-immediate: files are downloaded in parallel; -j N says how many at once
    --parallel-max --max-concurrent-downloads --threads --connections --concurrency: -j N says how many at once
    --min-split-size --num-connections: -s N says in how many segments a large file is downloaded
    -k --no-check-certificate --check-certificate: --insecure skips that check
    --max-speed --bwlimit --max-overall-download-limit: --limit-rate RATE is for all files
    --max-download-limit --throttled-rate: --limit-rate-file RATE is for each file
    -w --wait --sleep-interval --sleep-requests --tpslimit: --rate 2/s limits the requests to a host
    -b --cookie --load-cookies --save-cookies: --cookie-jar FILE reads and keeps cookies
    -e: --referer URL
    -D --daemon: --detach goes on without the terminal
    --password --http-user --http-passwd --http-password: --user NAME:PASSWORD, or --netrc-file FILE
    -U --proxy-user --proxy-passwd --proxy-password: user and password stand before the host in the URL of --proxy
    --noproxy --no-proxy: NO_PROXY in the environment names hosts that need no proxy; --proxy '' uses none
    -X --request --data --data-raw --data-binary --post-data --post-file --form: dlm sends GET requests only
    --ftp --ftps --ftp-pasv: the URL says so, with ftp://, ftps:// or ftpes://; transfers are passive
    --ssh --sftp: the URL says so, with sftp:// or scp://
    --compressed --compression --http-accept-gzip: what a server compressed unasked is decompressed; no option is needed
    -f --fail --fail-with-body: an error page is never saved as the file; no option is needed
    -S --silent --show-error --no-verbose -nv: -q shows failures only
    -N --timestamping --conditional-get: unchanged files are not downloaded again; no option is needed
    -nc --no-clobber --allow-overwrite --auto-file-renaming: --on-conflict says what to do: rename, skip, overwrite, ask
    -t --tries --max-tries --retry --retry-delay --retry-wait --waitretry: --retries N; dlm chooses the pauses
    -T --timeout --read-timeout: --connect-timeout and --stall-timeout, or --max-time for a whole file
    -y -Y --speed-limit --speed-time --lowest-speed-limit: --min-rate RATE fails a file that is slower for 30 s
    -I --head --spider: --dry-run shows what would be downloaded
    -r -p --recursive --mirror -A: --accept '*.pdf' URL downloads matching links; --depth 3 follows its folders
    -p --page-requisites: --accept '*' URL downloads the links and images of a page
    -l --level --no-parent: --depth N follows the folders of a page, with --accept '*.pdf'
    --http-proxy --https-proxy --all-proxy: --proxy URL is for every URL
    --edit: dlm config set NAME VALUE changes ~/.config/dlm/dlm.conf
    """

  /// Appends a hint to the parser's message about an unknown option. The parser's own suggestion, which may have
  /// another spelling, stays only if it is near.
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
