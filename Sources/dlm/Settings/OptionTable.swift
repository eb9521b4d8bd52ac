// Long because: it is one table, a row for each option.
import ArgumentParser

/// Every option of `dlm get`, once: parser, help, completion, settings files, `dlm config` and repeated runs use it.
enum OptionTable {
  /// A file that is both read and written counts as written.
  enum FileUse { case read, written }

  /// `values` and `headers` (a line, or @FILE with some) may be given several times; an `address` may have a login.
  enum Kind { case flag, value, values, headers, address, login }

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
    /// A command's values for it, as they would be typed; `yes` for a flag that is on.
    let texts: @Sendable (GetCommand) -> [String]
    /// Sets a command's option from texts as they would be typed.
    /// - Returns: false if one of them is invalid.
    let take: @Sendable (inout GetCommand, _ texts: [String]) -> Bool
    /// The allowed values, for the message about a wrong one.
    let possible: @Sendable (String) -> String

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
      "mode", \.own.mode, letter: "m", "mode", "How to download the list", usually: "parallel", .anywhere
    ),
    flag(
      "list", \.own.list,
      "The given URLs are lists, not files; --header and --cert go to the lists' servers only."
    ),
    value(
      "list-format", \.lists.format, "format", "The format of the lists", without: "found out"
    ),
    value(
      "base", \.lists.base, "url", "Complete relative lines with this URL", without: "the list's own"
    ),
    values(
      "accept", \.lists.accept, "pattern", "Download the matching links of a web page: *.pdf; may be repeated"
    ),
    value(
      "depth", \.lists.depth, "N",
      "With --accept, also search the page's own folders, this many levels down; files keep them",
      usually: "0"
    ),
    flag(
      "glob", \.lists.glob,
      "Expand sets {a,b} and ranges [001-100], [a-z], [0-100:10] in URLs and plain lists: https://host/f[1-9].bin."
    ),
    value(
      "url-template", \.lists.template, "url",
      "Put each line, or each value of --url-field or --items, in place of {}: https://host/{}.pdf"
    ),
    value(
      "preset", \.lists.preset, "name", "The catalogue that the list comes from"
    ),
    value(
      "items", \.lists.items, "path", "JSON path to the files: features[].assets.*", without: "found out"
    ),
    value(
      "next-field", \.lists.nextField, "path", "JSON field with the next page's URL, if no Link header names it"
    ),
    value(
      "url-field", \.lists.urlField, "field",
      "The field with the URL: a column's name or number, or a JSON path below an item",
      without: "found out"
    ),
    value(
      "name-field", \.lists.nameField, "field", "The field with the file's name or path"
    ),
    value(
      "checksum-field", \.lists.checksumField, "field", "The field with the checksum; none ignores checksums",
      without: "found out"
    ),
    value(
      "size-field", \.lists.sizeField, "field", "The field with the size in bytes; none ignores sizes",
      without: "found out"
    ),
    value(
      "split", \.lists.split, "character", "The separator between several values of one field"
    ),
    value(
      "shard", \.lists.shard, "i/n",
      "Download one shard of the list: 3/20, 1-4/4000, or auto in a job array (auto/20 if its size is unknown)",
      without: "all"
    ),
    value(
      "shard-by", \.lists.shardBy, "what", "What stays together in one shard", usually: "line"
    ),
    flag(
      "no-prefer-https", \.lists.noPreferHTTPS,
      "Ask hosts that are known to have both by ftp:// where a URL says so, and not over https first."
    ),
    flag(
      "no-unwrap", \.lists.noUnwrap,
      "Download the redirect pages of search engines and the like, not the URLs behind them."
    ),
    value(
      "directory", \.own.directory, letter: "d", "dir", "The folder for the files; created if missing", usually: ".",
      .byOwner
    ),
    value(
      "output", \.own.output, letter: "o", "path",
      "A single file's exact name or path, or - for standard output; a relative path is below --directory",
      without: "by URL or server"
    ),
    flag(
      "keep-paths", \.lists.keepPaths, "Keep the URLs' folders: https://host/a/b.bin goes to a/b.bin.", .anywhere
    ),
    flag(
      "prefix-host", \.lists.prefixHost, "Put each host's files into a folder named after it.", .anywhere
    ),
    value(
      "on-conflict", \.own.onConflict, "policy", "What to do with existing files that dlm did not write",
      without: "rename; --output and out= fail", .keeping
    ),
    value(
      "max-filesize", \.own.maxFilesize, "size", "Fail files that are larger: 500K, 2G", without: "any size", .less
    ),
    flag(
      "ask-names", \.own.askNames, "Ask for each file's name; other files go on meanwhile.", .anywhere, once: true
    ),
    flag(
      "no-cache", \.own.noCache, "Neither use nor fill the cache.", .on
    ),
    value(
      "store", \.own.store, "kind", "How the cache stores its own copies", usually: "auto", .anywhere
    ),
    value(
      "cache-max-size", \.own.cacheMaxSize, "size", "The size limit of the cache's own copies: 500M, 20G",
      without: "10G, or a tenth of the disk", .byOwner
    ),
    flag(
      "refresh", \.own.refresh, "Download everything again, even what is up to date.", .anywhere, once: true
    ),
    flag(
      "offline", \.own.offline, "Take everything from the cache; use no network.", .on, once: true
    ),
    flag(
      "revalidate", \.own.revalidate, "Ask the server about every file, even a fresh one.", .on, once: true
    ),
    flag(
      "heuristic", \.own.heuristic, "Guess how long a file stays fresh if the server does not say.", .off
    ),
    value(
      "max-age", \.own.maxAge, "time", "Ask about files last checked longer ago than this, even fresh ones: 1d",
      without: "any age",
      .less
    ),
    value(
      "max-stale", \.own.maxStale, "time", "Use stale files without asking for this long: 1h", .less
    ),
    flag(
      "fsync", \.own.fsync, "Flush each file to disk (fsync) before it counts as complete.", .on
    ),
    flag(
      "remote-time", \.own.remoteTime, "Set each file's time to its Last-Modified on the server.", .anywhere
    ),
    flag(
      "no-content-disposition", \.own.noContentDisposition,
      "Name files by their URL; ignore names that servers suggest.", .on
    ),
    value(
      "checksum", \.own.checksum, "algo:hex",
      "The checksum of a single file: sha256:HEX (also sha512, sha384, sha1, md5, crc32c; or base64)"
    ),
    value(
      "checksums", \.own.checksums, "file", "A file or URL with checksums by file name, as sha256sum writes them", .own,
      file: .read
    ),
    value(
      "require-proof", \.own.requireProof, "proof", "Reject files that are verified by less than this", usually: "none",
      .proof
    ),
    value(
      "expect", \.own.expect, "types",
      "Reject files of other media types, such as error pages: image/*,application/pdf",
      without: "any"
    ),
    value(
      "jobs", \.shared.jobs, letter: "j", "N|auto", "Files at once; auto finds out how many help, up to 64",
      usually: "auto", .less
    ),
    value(
      "per-host", \.shared.perHost, "N|auto", "Connections to one host at once, over all files and segments",
      usually: "auto", .less
    ),
    value(
      "segments", \.shared.segments, letter: "s", "N|auto",
      "Segments of one large file at once; auto splits where it helps, sequential never does", usually: "auto", .less
    ),
    values(
      "first", \.own.first, "pattern",
      "Download matching files first: names (*.pdf) or ends of paths (docs/*); may be repeated", .anywhere
    ),
    value(
      "order", \.own.order, "order", "The order of downloads; sizes come from the list or the cache", usually: "list",
      .anywhere
    ),
    flag(
      "detach", \.own.detach,
      "Go on without the terminal: dlm attach shows the run, dlm status all of them.", once: true
    ),
    flag(
      "background", \.own.background,
      "Low priority: idle processor and disk time only, one connection per host, none beside another dlm.",
      .on
    ),
    values(
      "limit-rate", \.shared.limitRate, "rate",
      "The most bytes per second: 500K, 5M, HOST=2M, 5M@09:00-17:00, none; may be repeated", .own
    ),
    value(
      "limit-rate-file", \.shared.limitRateFile, "rate", "The most bytes per second of each file: 500K",
      without: "no limit", .less
    ),
    values(
      "rate", \.shared.rate, "N/time", "The most requests to a host: 2/s, 30/m, HOST=1/s; may be repeated", .own
    ),
    value(
      "retries", \.shared.retries, "N", "Retries in a row without progress, after temporary failures", usually: "5",
      .less
    ),
    values(
      "retry-on", \.shared.retryOn, "statuses",
      "Treat these statuses like 429 (wait, then retry): 403,5xx, or HOST=202 for one host; may be repeated",
      .own
    ),
    value(
      "min-rate", \.shared.minRate, "rate", "Retry a file slower than this for 30 s, or use its mirror: 50K",
      without: "any rate",
      .own
    ),
    value(
      "max-time", \.shared.maxTime, "time", "Give up on a file after this long in total: 90, 10m, 1h",
      without: "no limit", .less
    ),
    value(
      "retry-max-time", \.shared.retryMaxTime, "time", "Stop retrying a file after this long: 90, 10m, 1h",
      without: "no limit", .less
    ),
    value(
      "connect-timeout", \.shared.connectTimeout, "time", "Give up connecting after this long: 10, 10s", usually: "10",
      .less
    ),
    value(
      "stall-timeout", \.shared.stallTimeout, "time", "Give up a transfer after this long without a byte: 30, 1m",
      usually: "30", .less
    ),
    value(
      "grace", \.own.grace, "time",
      "After SIGTERM or SIGHUP, start no more files and give running ones this long: 30, 5m",
      without: "end at once", .less
    ),
    values(
      "header", \.shared.header, letter: "H", kind: .headers, "line",
      "A header line for the URL's own server; @FILE reads lines from a file", .byOwner, file: .read
    ),
    value(
      "user-agent", \.shared.userAgent, "user-agent", "The User-Agent header", usually: "dlm/\(DLM.version)", .anywhere
    ),
    value(
      "cacert", \.shared.cacert, "file", "Certificate authorities to trust besides the system's, in PEM",
      without: "none", .byOwner,
      file: .read
    ),
    value(
      "crlfile", \.shared.crlfile, "file",
      "Revoked certificates (CRLs), in PEM: one list per issuer, including the root", .byOwner,
      file: .read
    ),
    value(
      "cert", \.shared.cert, "file", "Your certificate, in PEM or PKCS #12",
      then: ". Its pass phrase is in DLM_CERT_PASSPHRASE, in a file, or asked for.", .byOwner, file: .read
    ),
    value(
      "cert-type", \.shared.certType, "format", "The format of --cert", without: "found out", .byOwner
    ),
    value(
      "key", \.shared.key, "file", "The private key of --cert, in PEM", without: "in the certificate's file", .byOwner,
      file: .read
    ),
    value(
      "cert-passphrase-file", \.shared.certPassphraseFile, "file",
      "A file whose first line is the pass phrase of --cert or --key",
      without: "asked for", .byOwner, file: .read
    ),
    value(
      "pinnedpubkey", \.shared.pinnedpubkey, "keys",
      "Accept only servers with these public keys: sha256//BASE64;sha256//…, or a file",
      without: "any", .byOwner, file: .read
    ),
    flag(
      "tlsv1.2", \.shared.tls12, "Use TLS 1.2 or newer.", .byOwner
    ),
    flag(
      "tlsv1.3", \.shared.tls13, "Use TLS 1.3 or newer.", .byOwner
    ),
    value(
      "tls-max", \.shared.tlsMax, "version", "The newest TLS version to use", without: "the newest there is", .byOwner
    ),
    value(
      "aws-profile", \.shared.awsProfile, "name", "The profile of ~/.aws with the login for s3://",
      without: "AWS_PROFILE, default", .byOwner
    ),
    value(
      "aws-command", \.shared.awsCommand, "command", "A command that prints the login for s3:// as JSON", .byOwner
    ),
    flag(
      "request-payer", \.shared.requestPayer, "Pay for requests to s3:// whose buckets ask for that.", .byOwner
    ),
    value(
      "identity", \.shared.identity, "file", "Your private key for sftp:// and scp://",
      without: "~/.ssh/id_ed25519 or id_ecdsa, and the agent's", .byOwner, file: .read
    ),
    flag(
      "ssl-reqd", \.shared.sslReqd, "Use TLS for ftp:// too, or fail (as for ftpes://).", .byOwner
    ),
    flag(
      "insecure", \.shared.insecure, "Accept any certificate: nothing proves who the server is.", .byOwner
    ),
    value(
      "proxy", \.shared.proxy, kind: .address, "url", "The proxy to use",
      without: "http_proxy, https_proxy, ftp_proxy, all_proxy",
      .byOwner
    ),
    flag(
      "netrc", \.shared.netrc, letter: "n", "Use the logins of ~/.netrc.", .byOwner
    ),
    value(
      "user", \.shared.user, letter: "u", kind: .login, "name:password",
      "The login for the URLs' own servers; for a name alone, dlm asks for the password"
    ),
    value(
      "netrc-file", \.shared.netrcFile, "file", "A file of logins by host (netrc), instead of ~/.netrc", .byOwner,
      file: .read
    ),
    value(
      "cookie-jar", \.shared.cookieJar, "file", "Keep cookies between runs in this file, as curl does",
      then: "; without it they last one run.", .byOwner, file: .written
    ),
    flag(
      "http2", \.shared.http2, "Use HTTP/2 over TLS where the server can.", .anywhere
    ),
    flag(
      "ipv4", \.shared.ipv4, letter: "4", "Connect to IPv4 addresses only.", .byOwner
    ),
    flag(
      "ipv6", \.shared.ipv6, letter: "6", "Connect to IPv6 addresses only.", .byOwner
    ),
    value(
      "interface", \.shared.interface, "name", "The network interface, or the address, to connect from",
      without: "the system's choice", .byOwner
    ),
    values(
      "resolve", \.shared.resolve, "host:port:address", "Connect to this address for a host; may be repeated", .byOwner
    ),
    value(
      "doh-url", \.shared.dohURL, kind: .address, "url", "Look hosts up at this DNS-over-HTTPS server",
      without: "as the system does", .byOwner
    ),
    value(
      "unix-socket", \.shared.unixSocket, "path", "Connect to this socket, whatever the host", .byOwner, file: .read
    ),
    value(
      "max-redirs", \.shared.maxRedirs, "N", "Follow so many redirects in a row", usually: "20", .less
    ),
    value(
      "referer", \.shared.referer, kind: .address, "url", "The Referer header, for the URL's own server", .byOwner
    ),
    value(
      "progress", \.shared.progress, "style", "How to show progress", usually: "auto", .anywhere, once: true
    ),
    value(
      "failed", \.own.failed, "file|-", "Write what failed, and why, as a list for dlm get", .byOwner, once: true,
      file: .written
    ),
    value(
      "on-complete", \.own.onComplete, "command",
      "Run this after each complete file, without a shell; DLM_PATH, DLM_URL, DLM_VERDICT",
      .byOwner, once: true
    ),
    value(
      "on-done", \.own.onDone, "command", "Run this at the end, with DLM_STATUS, DLM_DONE and DLM_FAILED", .byOwner,
      once: true
    ),
    value(
      "write-checksums", \.own.writeChecksums, "file|-",
      "Write the SHA-256 of every complete file at the end, for sha256sum -c",
      .byOwner, once: true, file: .written
    ),
    value(
      "write-list", \.own.writeList, "file|-",
      "Write the complete files as a list for dlm get: URL, out=NAME, size=N, sha256=HEX",
      .byOwner, once: true, file: .written
    ),
    value(
      "events", \.own.events, "file|-|fd:N",
      "Write the lines of --progress json to a file, - (standard output) or fd:N, beside the display", .byOwner,
      once: true, file: .written
    ),
    value(
      "summary-json", \.own.summaryJSON, "file|-", "Write the summary as a JSON object; - is standard output", .byOwner,
      once: true,
      file: .written
    ),
    value(
      "report", \.shared.report, "file", "Write a report: .html with charts, or .json", .byOwner, once: true,
      file: .written
    ),
    flag(
      "no-keys", \.own.noKeys, "Read no keys while progress bars are shown; typed text is left for the next program.",
      .anywhere,
      once: true
    ),
    flag(
      "quiet", \.shared.quiet, letter: "q", "Show failures only.", .anywhere, once: true
    ),
    flag(
      "verbose", \.shared.verbose, letter: "v", "Explain what is done and why, on standard error.", .anywhere,
      once: true
    ),
    flag(
      "no-compare", \.own.noCompare,
      "Without a source: compare no modes, download only what is missing or has changed.",
      .anywhere, once: true
    ),
    flag(
      "watch", \.own.watch, "Follow the lists as they change, until Ctrl-C.", .byOwner, once: true
    ),
    value(
      "refresh-every", \.own.refreshEvery, "time",
      "With --watch: check files and lists on servers this often: 30s, 10m, 6h", without: "never",
      .byOwner, once: true
    ),
    flag(
      "dry-run", \.own.dryRun,
      "Download nothing; show names, sizes (asks servers), existing files, total, time, free space.",
      once: true
    ),
    flag(
      "json", \.own.json, "Same as --progress json; also with --dry-run.", once: true
    ),
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

  /// Whether new options have their initial values at once. Usually, reading an option that was not parsed is a fault.
  @TaskLocal static var givesInitialValues = false

  private static let byName = Dictionary(uniqueKeysWithValues: rows.map { ($0.name, $0) })

  static func row(_ name: String) -> Row {
    guard let row = byName[name] else { preconditionFailure("\(name) has no row") }
    return row
  }

  /// - Parameter word: `--mode` or `-m`.
  static func row(spelled word: Substring) -> Row? {
    word.hasPrefix("--")
      ? byName[String(word.dropFirst(2))] : word.count == 2 ? rows.first { $0.letter == word.last } : nil
  }

  /// Whether a word is a long option with one dash.
  static func hasOneDash(_ word: String) -> Bool {
    word.count > 2 && word.first == "-" && byName[String(word.dropFirst())] != nil
  }

  /// An empty value means none: no proxy, no header line.
  static let mayBeEmpty: Set = ["proxy", "user-agent"]

  static let repeated = Set(rows.filter { [.values, .headers].contains($0.kind) }.map(\.name))

  /// Keys that a settings file, or DLM_… in the environment, may set. Loops have no option.
  static let settingKeys = Set(rows.filter { $0.setting != .nowhere }.map(\.name) + ["loops"])

  static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.endsLine).filter { !$0.allSatisfy(\.isWhitespace) }.map(String.init)
  }

  /// A closure, because making a key path costs as much as reading an option, and few options are given.
  fileprivate typealias Field<Value> = @Sendable () -> any WritableKeyPath<GetCommand, Value> & Sendable

  private static func flag(
    _ name: String, _ field: @autoclosure @escaping Field<Bool>, letter: Character? = nil, _ help: String,
    _ setting: SettingRule = .nowhere, once: Bool = false
  ) -> Row {
    Row(
      name, letter, .init(help), .flag, !once, setting, "no", "", nil, field, YesOrNo.self,
      texts: { $0 ? ["yes"] : [] }, value: { $0.last.flatMap { YesOrNo(argument: $0)?.isOn } })
  }

  private static func value<Value: ExpressibleByArgument>(
    _ name: String, _ field: @autoclosure @escaping Field<Value?>, letter: Character? = nil, kind: Kind = .value,
    _ valueName: String,
    _ help: String, then end: String = ".", usually usual: String? = nil, without meaning: String = "none",
    _ setting: SettingRule = .nowhere, once: Bool = false, file: FileUse? = nil
  ) -> Row {
    Row(
      name, letter, .value(valueName, "\(help) (default: \(usual ?? meaning))\(end)"), kind, !once, setting, usual,
      meaning, file, field, Value.self, texts: { $0.map { [$0.defaultValueDescription] } ?? [] },
      value: { texts in (all(texts) as [Value]?)?.last.map(Optional.some) })
  }

  private static func values<Value: ExpressibleByArgument>(
    _ name: String, _ field: @autoclosure @escaping Field<[Value]>, letter: Character? = nil, kind: Kind = .values,
    _ valueName: String,
    _ help: String, _ setting: SettingRule = .nowhere, file: FileUse? = nil
  ) -> Row {
    Row(
      name, letter, .value(valueName, "\(help) (default: none)."), kind, true, setting, nil, "none", file, field,
      Value.self, texts: { $0.map(\.defaultValueDescription) },
      value: all)
  }

  /// - Returns: `nil` if one is invalid.
  @Sendable
  private static func all<Value: ExpressibleByArgument>(_ texts: [String]) -> [Value]? {
    let values = texts.compactMap { Value(argument: $0) }
    return values.count == texts.count ? values : nil
  }
}

extension OptionTable.Row {
  fileprivate init<Value>(
    _ name: String, _ letter: Character?, _ help: ArgumentHelp, _ kind: OptionTable.Kind, _ isLasting: Bool,
    _ setting: SettingRule, _ usual: String?, _ meaning: String, _ file: OptionTable.FileUse?,
    _ field: @escaping OptionTable.Field<Value>,
    _ type: any ExpressibleByArgument.Type,
    texts: @escaping @Sendable (Value) -> [String], value: @escaping @Sendable ([String]) -> Value?
  ) {
    self.init(
      name: name, letter: letter, help: help, kind: kind, isLasting: isLasting, setting: setting, usual: usual,
      meaning: meaning, file: file, texts: { texts($0[keyPath: field()]) },
      take: { command, texts in
        guard let value = value(texts) else { return false }
        command[keyPath: field()] = value
        return true
      }, possible: { UsageMessages.possible(type, nearly: $0) })
  }
}
