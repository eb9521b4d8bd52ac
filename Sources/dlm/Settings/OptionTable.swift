// Long because: it is one table, a row for each option.
import ArgumentParser

/// Every option of `dlm get`, once: parser, help, completion, settings files, `dlm config` and repeated runs use it.
enum OptionTable {
  /// A file that is both read and written counts as written.
  enum FileUse { case read, written }

  /// `values` and `headers` (a line, or @FILE with some) may be given several times; an `address` may have a login.
  enum Kind { case flag, value, values, headers, address }

  struct Row {
    let name: String
    let letter: Character?
    let help: ArgumentHelp
    let kind: Kind
    /// Whether the next run of the same list uses it, too: false for options about one run's output.
    let isLasting: Bool
    let setting: SettingRule
    /// The value if none is set; `nil` if `meaning` describes it.
    let usual: String?
    let meaning: String
    let file: FileUse?
    /// A command's values for it, as they would be typed; `yes` for a flag that is on. Changes nothing.
    let texts: @Sendable (inout GetCommand) -> [String]
    /// The allowed values, for the message about a wrong one.
    let possible: @Sendable (String) -> String
    /// Gives a command the values that are set elsewhere.
    let set: @Sendable (inout GetCommand, SettingsSources) throws -> Void

    var spelled: String { "--\(name)" }

    /// - Parameter word: `--mode` or `-m`.
    func isSpelled(_ word: some StringProtocol) -> Bool { spelled == word || letter.map { "-\($0)" == word } == true }

    var names: NameSpecification {
      guard let letter else { return .customLong(name) }
      // The order in completion scripts.
      return kind == .flag
        ? [.customLong(name), .customShort(letter)] : [.customShort(letter, allowingJoined: true), .customLong(name)]
    }

    var completion: CompletionKind? {
      if name == "directory" { return .directory }
      if name == "preset" { return .list(Preset.allValueStrings) }
      return file != nil && kind != .headers ? .file() : nil
    }
  }

  static let rows: [Row] = [
    value(
      "mode", letter: "m", "mode", "How to download the list", usually: "parallel", .anywhere
    ) { $1(&$0.own.mode) },
    flag(
      "list",
      "The given URLs are lists, not files; --header and --cert go to the lists' servers only."
    ) { $1(&$0.own.list) },
    value(
      "list-format", "format", "The format of the lists", without: "found out"
    ) { $1(&$0.lists.format) },
    value(
      "base", "url", "Complete relative lines with this URL", without: "the list's own"
    ) { $1(&$0.lists.base) },
    values(
      "accept", "pattern", "Download the matching links of a web page: *.pdf; may be repeated"
    ) { $1(&$0.lists.accept) },
    value(
      "depth", "N", "With --accept, also search the page's own folders, this many levels down; files keep them",
      usually: "0"
    ) { $1(&$0.lists.depth) },
    flag(
      "glob",
      "Expand sets {a,b} and ranges [001-100], [a-z], [0-100:10] in URLs and plain lists: https://host/f[1-9].bin."
    ) { $1(&$0.lists.glob) },
    value(
      "url-template", "url",
      "Put each line, or each value of --url-field or --items, in place of {}: https://host/{}.pdf"
    ) { $1(&$0.lists.template) },
    value(
      "preset", "name", "The catalogue that the list comes from"
    ) { $1(&$0.lists.preset) },
    value(
      "items", "path", "JSON path to the files: features[].assets.*", without: "found out"
    ) { $1(&$0.lists.items) },
    value(
      "next-field", "path", "JSON field with the next page's URL, if no Link header names it"
    ) { $1(&$0.lists.nextField) },
    value(
      "url-field", "field", "The field with the URL: a column's name or number, or a JSON path below an item",
      without: "found out"
    ) { $1(&$0.lists.urlField) },
    value("name-field", "field", "The field with the file's name or path") { $1(&$0.lists.nameField) },
    value(
      "checksum-field", "field", "The field with the checksum; none ignores checksums", without: "found out"
    ) { $1(&$0.lists.checksumField) },
    value(
      "size-field", "field", "The field with the size in bytes; none ignores sizes", without: "found out"
    ) { $1(&$0.lists.sizeField) },
    value("split", "character", "The separator between several values of one field") { $1(&$0.lists.split) },
    value(
      "shard", "i/n",
      "Download one shard of the list: 3/20, 1-4/4000, or auto in a job array (auto/20 if its size is unknown)",
      without: "all"
    ) { $1(&$0.lists.shard) },
    value(
      "shard-by", "what", "What stays together in one shard", usually: "line"
    ) { $1(&$0.lists.shardBy) },
    flag(
      "no-unwrap", "Download the redirect pages of search engines and the like, not the URLs behind them."
    ) { $1(&$0.lists.noUnwrap) },
    value(
      "directory", letter: "d", "dir", "The folder for the files; created if missing", usually: ".", .byOwner
    ) { $1(&$0.own.directory) },
    value(
      "output", letter: "o", "path",
      "A single file's exact name or path, or - for standard output; a relative path is below --directory",
      without: "by URL or server"
    ) { $1(&$0.own.output) },
    flag(
      "keep-paths", "Keep the URLs' folders: https://host/a/b.bin goes to a/b.bin.", .anywhere
    ) { $1(&$0.lists.keepPaths) },
    flag("prefix-host", "Put each host's files into a folder named after it.", .anywhere) { $1(&$0.lists.prefixHost) },
    value(
      "on-conflict", "policy", "What to do with existing files that dlm did not write",
      without: "rename; --output and out= fail", .keeping
    ) { $1(&$0.own.onConflict) },
    value(
      "max-filesize", "size", "Fail files that are larger: 500K, 2G", without: "any size", .less
    ) { $1(&$0.own.maxFilesize) },
    flag(
      "ask-names", "Ask for each file's name; other files go on meanwhile.", .anywhere, once: true
    ) { $1(&$0.own.askNames) },
    flag("no-cache", "Neither use nor fill the cache.", .on) { $1(&$0.own.noCache) },
    value("store", "kind", "How the cache stores its own copies", usually: "auto", .anywhere) { $1(&$0.own.store) },
    value(
      "cache-max-size", "size", "The size limit of the cache's own copies: 500M, 20G",
      without: "10G, or a tenth of the disk", .byOwner
    ) { $1(&$0.own.cacheMaxSize) },
    flag(
      "refresh", "Download everything again, even what is up to date.", .anywhere, once: true
    ) { $1(&$0.own.refresh) },
    flag("offline", "Take everything from the cache; use no network.", .on, once: true) { $1(&$0.own.offline) },
    flag(
      "revalidate", "Ask the server about every file, even a fresh one.", .on, once: true
    ) { $1(&$0.own.revalidate) },
    flag(
      "heuristic", "Guess how long a file stays fresh if the server does not say.", .off
    ) { $1(&$0.own.heuristic) },
    value(
      "max-age", "time", "Ask about files last checked longer ago than this, even fresh ones: 1d", without: "any age",
      .less
    ) { $1(&$0.own.maxAge) },
    value("max-stale", "time", "Use stale files without asking for this long: 1h", .less) { $1(&$0.own.maxStale) },
    flag("fsync", "Flush each file to disk (fsync) before it counts as complete.", .on) { $1(&$0.own.fsync) },
    flag(
      "remote-time", "Set each file's time to its Last-Modified on the server.", .anywhere
    ) { $1(&$0.own.remoteTime) },
    flag(
      "no-content-disposition", "Name files by their URL; ignore names that servers suggest.", .on
    ) { $1(&$0.own.noContentDisposition) },
    value(
      "checksum", "algo:hex",
      "The checksum of a single file: sha256:HEX (also sha512, sha384, sha1, md5, crc32c; or base64)"
    ) { $1(&$0.own.checksum) },
    value(
      "checksums", "file", "A file or URL with checksums by file name, as sha256sum writes them", .own,
      file: .read
    ) { $1(&$0.own.checksums) },
    value(
      "require-proof", "proof", "Reject files that are verified by less than this", usually: "none", .proof
    ) { $1(&$0.own.requireProof) },
    value(
      "expect", "types", "Reject files of other media types, such as error pages: image/*,application/pdf",
      without: "any"
    ) { $1(&$0.own.expect) },
    value(
      "jobs", letter: "j", "N|auto", "Files at once; auto finds out how many help, up to 64", usually: "auto", .less
    ) { $1(&$0.shared.jobs) },
    value(
      "per-host", "N|auto", "Connections to one host at once, over all files and segments", usually: "auto", .less
    ) { $1(&$0.shared.perHost) },
    value(
      "segments", letter: "s", "N|auto",
      "Segments of one large file at once; auto splits where it helps, sequential never does", usually: "auto", .less
    ) { $1(&$0.shared.segments) },
    values(
      "first", "pattern",
      "Download matching files first: names (*.pdf) or ends of paths (docs/*); may be repeated", .anywhere
    ) { $1(&$0.own.first) },
    value(
      "order", "order", "The order of downloads; sizes come from the list or the cache", usually: "list",
      .anywhere
    ) { $1(&$0.own.order) },
    flag(
      "background",
      "Low priority: idle processor and disk time only, one connection per host, none beside another dlm.",
      .on
    ) { $1(&$0.own.background) },
    value(
      "limit-rate", "rate", "The total rate limit, in bytes per second: 500K, 5M", without: "no limit", .less
    ) { $1(&$0.shared.limitRate) },
    value(
      "retries", "N", "Retries in a row without progress, after temporary failures", usually: "5", .less
    ) { $1(&$0.shared.retries) },
    values(
      "retry-on", "statuses",
      "Treat these statuses like 429 (wait, then retry): 403,5xx, or HOST=202 for one host; may be repeated",
      .own
    ) { $1(&$0.shared.retryOn) },
    value(
      "min-rate", "rate", "Retry a file slower than this for 30 s, or use its mirror: 50K", without: "any rate",
      .own
    ) { $1(&$0.shared.minRate) },
    value(
      "max-time", "time", "Give up on a file after this long in total: 90, 10m, 1h", without: "no limit", .less
    ) { $1(&$0.shared.maxTime) },
    value(
      "retry-max-time", "time", "Stop retrying a file after this long: 90, 10m, 1h", without: "no limit", .less
    ) { $1(&$0.shared.retryMaxTime) },
    value(
      "connect-timeout", "time", "Give up connecting after this long: 10, 10s", usually: "10", .less
    ) { $1(&$0.shared.connectTimeout) },
    value(
      "stall-timeout", "time", "Give up a transfer after this long without a byte: 30, 1m", usually: "30", .less
    ) { $1(&$0.shared.stallTimeout) },
    value(
      "grace", "time", "After SIGTERM or SIGHUP, start no more files and give running ones this long: 30, 5m",
      without: "end at once", .less
    ) { $1(&$0.own.grace) },
    values(
      "header", letter: "H", kind: .headers, "line",
      "A header line for the URL's own server; @FILE reads lines from a file", .byOwner, file: .read
    ) { $1(&$0.shared.header) },
    value(
      "user-agent", "user-agent", "The User-Agent header", usually: "dlm/\(DLM.version)", .anywhere
    ) { $1(&$0.shared.userAgent) },
    value(
      "cacert", "file", "Certificate authorities to trust besides the system's, in PEM", without: "none", .byOwner,
      file: .read
    ) { $1(&$0.shared.cacert) },
    value(
      "crlfile", "file", "Revoked certificates (CRLs), in PEM: one list per issuer, including the root", .byOwner,
      file: .read
    ) { $1(&$0.shared.crlfile) },
    value(
      "cert", "file", "Your certificate, in PEM or PKCS #12",
      then: ". Its pass phrase is in DLM_CERT_PASSPHRASE, in a file, or asked for.", .byOwner, file: .read
    ) { $1(&$0.shared.cert) },
    value("cert-type", "format", "The format of --cert", without: "found out", .byOwner) { $1(&$0.shared.certType) },
    value(
      "key", "file", "The private key of --cert, in PEM", without: "in the certificate's file", .byOwner, file: .read
    ) { $1(&$0.shared.key) },
    value(
      "cert-passphrase-file", "file", "A file whose first line is the pass phrase of --cert or --key",
      without: "asked for", .byOwner, file: .read
    ) { $1(&$0.shared.certPassphraseFile) },
    value(
      "pinnedpubkey", "keys", "Accept only servers with these public keys: sha256//BASE64;sha256//…, or a file",
      without: "any", .byOwner, file: .read
    ) { $1(&$0.shared.pinnedpubkey) },
    flag("tlsv1.2", "Use TLS 1.2 or newer.", .byOwner) { $1(&$0.shared.tls12) },
    flag("tlsv1.3", "Use TLS 1.3 or newer.", .byOwner) { $1(&$0.shared.tls13) },
    value(
      "tls-max", "version", "The newest TLS version to use", without: "the newest there is", .byOwner
    ) { $1(&$0.shared.tlsMax) },
    flag(
      "insecure", "Accept any certificate: nothing proves who the server is.", .byOwner
    ) { $1(&$0.shared.insecure) },
    value(
      "proxy", kind: .address, "url", "The proxy to use", without: "http_proxy, https_proxy, all_proxy", .byOwner
    ) { $1(&$0.shared.proxy) },
    flag("netrc", letter: "n", "Use the logins of ~/.netrc.", .byOwner) { $1(&$0.shared.netrc) },
    value(
      "netrc-file", "file", "A file of logins by host (netrc), instead of ~/.netrc", .byOwner, file: .read
    ) { $1(&$0.shared.netrcFile) },
    value(
      "cookie-jar", "file", "Keep cookies between runs in this file, as curl does",
      then: "; without it they last one run.", .byOwner, file: .written
    ) { $1(&$0.shared.cookieJar) },
    flag("http2", "Use HTTP/2 over TLS where the server can.", .anywhere) { $1(&$0.shared.http2) },
    value(
      "progress", "style", "How to show progress", usually: "auto", .anywhere, once: true
    ) { $1(&$0.shared.progress) },
    value(
      "failed", "file|-", "Write what failed, and why, as a list for dlm get", .byOwner, once: true,
      file: .written
    ) { $1(&$0.own.failed) },
    value(
      "on-complete", "command", "Run this after each complete file, without a shell; DLM_PATH, DLM_URL, DLM_VERDICT",
      .byOwner, once: true
    ) { $1(&$0.own.onComplete) },
    value(
      "on-done", "command", "Run this at the end, with DLM_STATUS, DLM_DONE and DLM_FAILED", .byOwner, once: true
    ) { $1(&$0.own.onDone) },
    value(
      "write-checksums", "file|-", "Write the SHA-256 of every complete file at the end, for sha256sum -c",
      .byOwner, once: true, file: .written
    ) { $1(&$0.own.writeChecksums) },
    value(
      "write-list", "file|-", "Write the complete files as a list for dlm get: URL, out=NAME, size=N, sha256=HEX",
      .byOwner, once: true, file: .written
    ) { $1(&$0.own.writeList) },
    value(
      "events", "file|-|fd:N",
      "Write the lines of --progress json to a file, - (standard output) or fd:N, beside the display", .byOwner,
      once: true, file: .written
    ) { $1(&$0.own.events) },
    value(
      "summary-json", "file|-", "Write the summary as a JSON object; - is standard output", .byOwner, once: true,
      file: .written
    ) { $1(&$0.own.summaryJSON) },
    value(
      "report", "file", "Write a report: .html with charts, or .json", .byOwner, once: true, file: .written
    ) { $1(&$0.shared.report) },
    flag(
      "no-keys", "Read no keys while progress bars are shown; typed text is left for the next program.", .anywhere,
      once: true
    ) { $1(&$0.own.noKeys) },
    flag("quiet", letter: "q", "Show failures only.", .anywhere, once: true) { $1(&$0.shared.quiet) },
    flag(
      "verbose", letter: "v", "Explain what is done and why, on standard error.", .anywhere, once: true
    ) { $1(&$0.shared.verbose) },
    flag(
      "no-compare", "Without a source: compare no modes, download only what is missing or has changed.",
      .anywhere, once: true
    ) { $1(&$0.own.noCompare) },
    flag("watch", "Follow the lists as they change, until Ctrl-C.", .byOwner, once: true) { $1(&$0.own.watch) },
    value(
      "refresh-every", "time",
      "With --watch: check files and lists on servers this often: 30s, 10m, 6h", without: "never",
      .byOwner, once: true
    ) { $1(&$0.own.refreshEvery) },
    flag(
      "dry-run", "Download nothing; show names, sizes (asks servers), existing files, total, time, free space.",
      once: true
    ) { $1(&$0.own.dryRun) },
    flag("json", "Same as --progress json; also with --dry-run.", once: true) { $1(&$0.own.json) },
  ]

  /// The sections of the help, with the options that start their rows.
  private static let starts: [(title: String, names: Set<String>)] = [
    ("WHAT TO FETCH", ["list", "first", "no-compare"]), ("WHERE IT GOES", ["directory", "ask-names", "fsync"]),
    ("HOW MANY AT ONCE", ["mode", "jobs", "background"]), ("WHAT IS KEPT", ["no-cache"]),
    ("PROOF AND BOUNDS", ["checksum", "max-filesize"]), ("CONNECTION", ["retries", "proxy"]),
    ("CERTIFICATES", ["cacert"]), ("DISPLAY", ["progress", "no-keys"]), ("RECORDS", ["failed"]),
  ]

  static let sections: [(title: String, names: [String])] = {
    var title = ""
    let titled = rows.map { row in
      title = starts.first { $0.names.contains(row.name) }?.title ?? title
      return (title: title, name: row.name)
    }
    return starts.map { start in (start.title, titled.filter { $0.title == start.title }.map(\.name)) }
      + [("HELP", ["version", "help"])]
  }()

  /// The options that `-h` shows.
  static let daily = Set(
    """
    list dry-run directory output on-conflict mode jobs segments limit-rate refresh checksum checksums retries header \
    netrc-file proxy insecure progress quiet failed
    """.split(separator: " ").map(String.init))

  private static let byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })

  static func row(_ name: String) -> Row {
    guard let row = byName[name] else { preconditionFailure("\(name) has no row") }
    return row
  }

  static let repeated = Set(rows.filter { [.values, .headers].contains($0.kind) }.map(\.name))

  /// Keys that a settings file, or DLM_… in the environment, may set. Loops have no option.
  static let settingKeys = Set(rows.filter { $0.setting != .nowhere }.map(\.name) + ["loops"])

  static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.endsLine).filter { !$0.allSatisfy(\.isWhitespace) }.map(String.init)
  }

  /// A command's property. Not a key path: creating and using these takes a fifth of the parser's time.
  private typealias Field<Value> = @Sendable (inout GetCommand, (inout Value) -> Void) -> Void

  private static func flag(
    _ name: String, letter: Character? = nil, _ help: String, _ setting: SettingRule = .nowhere, once: Bool = false,
    _ field: @escaping Field<Bool>
  ) -> Row {
    Row(
      name, letter, .init(help), .flag, !once, setting, "no", "", nil, field, YesOrNo.self,
      texts: { $0 ? ["yes"] : [] },
      found: { (try $0.value(name) as YesOrNo?)?.isOn })
  }

  private static func value<Value: ExpressibleByArgument>(
    _ name: String, letter: Character? = nil, kind: Kind = .value, _ valueName: String, _ help: String,
    then end: String = ".", usually usual: String? = nil, without meaning: String = "none",
    _ setting: SettingRule = .nowhere,
    once: Bool = false, file: FileUse? = nil, _ field: @escaping Field<Value?>
  ) -> Row {
    Row(
      name, letter, .value(valueName, "\(help) (default: \(usual ?? meaning))\(end)"), kind, !once, setting, usual,
      meaning, file, field, Value.self, texts: { $0.map { [$0.defaultValueDescription] } ?? [] },
      found: { (try $0.value(name) as Value?).map(Optional.some) })
  }

  private static func values<Value: ExpressibleByArgument>(
    _ name: String, letter: Character? = nil, kind: Kind = .values, _ valueName: String, _ help: String,
    _ setting: SettingRule = .nowhere, file: FileUse? = nil, _ field: @escaping Field<[Value]>
  ) -> Row {
    Row(
      name, letter, .value(valueName, "\(help) (default: none)."), kind, true, setting, nil, "none", file, field,
      Value.self, texts: { $0.map(\.defaultValueDescription) },
      found: { try $0.values(name) })
  }
}

extension OptionTable.Row {
  fileprivate init<Value>(
    _ name: String, _ letter: Character?, _ help: ArgumentHelp, _ kind: OptionTable.Kind, _ isLasting: Bool,
    _ setting: SettingRule, _ usual: String?, _ meaning: String, _ file: OptionTable.FileUse?,
    _ field: @escaping @Sendable (inout GetCommand, (inout Value) -> Void) -> Void,
    _ type: any ExpressibleByArgument.Type,
    texts: @escaping @Sendable (Value) -> [String], found: @escaping @Sendable (SettingsSources) throws -> Value?
  ) {
    self.name = name
    self.letter = letter
    self.help = help
    self.kind = kind
    self.isLasting = isLasting
    self.setting = setting
    self.usual = usual
    self.meaning = meaning
    self.file = file
    possible = { UsageMessages.possible(type, nearly: $0) }
    self.texts = { command in
      var all: [String] = []
      field(&command) { all = texts($0) }
      return all
    }
    set = { command, sources in
      if let value = try found(sources) { field(&command) { $0 = value } }
    }
  }
}
