/// What dlm has for an option that it does not know: words of curl, wget and aria2, beginnings, and slips.
enum OptionHint {
  /// A line an answer, behind the options that it is for.
  private static let table = """
    -c -C --continue --continue-at: dlm always goes on where it was; no option is needed
    -i --input-file: a list needs no option: dlm get LIST
    -O --output-document --remote-name --remote-name-all: files are named by their addresses; -o NAME names a single one
    -P --directory-prefix --dir --output-dir: -d DIR says where files go
    -x --max-connection-per-server: --per-host N bounds the connections to one host (curl's -x is --proxy URL)
    -L --location --max-redirs --max-redirect: redirects are followed; no option is needed
    -Z --parallel --parallel-immediate: files are fetched in parallel; -j N says how many at once
    --parallel-max --max-concurrent-downloads --threads --connections --concurrency: -j N says how many at once
    --min-split-size --num-connections: -s N says in how many segments a large file is fetched
    -k --no-check-certificate --check-certificate: --insecure skips that check
    --rate --max-download-limit --max-overall-download-limit: --limit-rate RATE bounds the rate of everything
    -b --cookie --load-cookies --save-cookies: --cookie-jar FILE reads and keeps cookies
    -u --user --password --netrc --http-user --http-passwd --http-password: --netrc-file FILE holds logins
    --compressed --compression --http-accept-gzip: what a server compressed unasked is decompressed; no option is needed
    -f --fail --fail-with-body: an error page is never saved as the file; no option is needed
    -S --silent --show-error --no-verbose -nv: -q leaves out what went well; failures are always shown
    -N --timestamping --conditional-get: what has not changed is not fetched again; no option is needed
    -nc --no-clobber --allow-overwrite --auto-file-renaming: --on-conflict says what to do: rename, skip, overwrite, ask
    -t --tries --max-tries --retry --retry-delay --retry-wait --waitretry: --retries N; dlm chooses the pauses
    -T --timeout --read-timeout: --connect-timeout S and --stall-timeout S, or --max-time S for a whole file
    -y -Y --speed-limit --speed-time --lowest-speed-limit: --min-rate RATE fails a file that comes slower for 30 s
    -I --head --spider: --dry-run says what would be fetched
    -r -p --recursive --mirror --page-requisites: dlm takes lists and follows no links in pages
    --http-proxy --https-proxy --all-proxy: --proxy URL is for every address
    """

  /// Has the parser's message that `dlm get` has no such option end with what there is for it.
  static func added(to message: String, _ words: [String]) -> String {
    let first = CommandLineParse.withCommand(words).first ?? ""
    guard first == "get" || first.hasPrefix("-") else { return message }
    return message.replacing(/(Unknown option '([^']+)').*/) { match in
      answer(to: match.2).map { match.1 + $0 } ?? match.0
    }
  }

  private static func answer(to typed: Substring) -> String? {
    let rows = table.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
      .map { (words: $0[0].split(separator: " "), answer: $0[1]) }
    func known(_ word: Substring) -> String? { rows.first { $0.words.contains(word) }.map { ": \($0.answer)" } }
    // `-x4`: the letter and its value.
    guard typed.hasPrefix("--") else { return known(typed) ?? known(typed.prefix(2)) }
    let own = NearestWord.to(String(typed.dropFirst(2)), among: OptionTable.rows.map(\.name))
    let other = NearestWord.to(String(typed), among: rows.flatMap(\.words).map { String($0) })
    return known(typed) ?? own.map { ". Did you mean --\($0)?" } ?? other.flatMap { known($0[...]) }
  }
}
