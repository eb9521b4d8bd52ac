import ArgumentParser
import DownloadCaching
import DownloadModel
import TerminalProgress

/// Every option of `dlm get`, once: where it stands in a command, whether a repeated run uses it again, and where else
/// it may be set.
///
/// Options are written again in the table's order (`AgainMessages`, `RememberedOptions`).
enum OptionTable {
  /// Whether an option holds for the next run of the same list too.
  enum Memory {
    /// Mode, folder, connections, proof. A path of a file with secrets is not a secret.
    case lasting
    /// The output of this one run, and what it does once.
    case once
  }

  /// Where an option can be set besides the command line.
  enum Setting: Equatable {
    /// It is of the one thing that is typed beside it.
    case nowhere
    /// DLM_… in the environment, `dlm.conf`, and the working folder's `.dlm.conf`.
    case anywhere
    /// Likewise, but in the working folder only what is no looser than the user's own: proof, and bounds.
    case bounded(Strictness)
    /// Not in the working folder: whom dlm trusts, and where it writes (HTTP rule 45).
    case byOwner
  }

  /// What is done with the file that an option names. What is read and written counts as written.
  enum FileUse { case read, written }

  /// What a value is, for those who write it again.
  enum Kind {
    case flag, value
    /// What may be given several times.
    case values
    /// Likewise: a header line, or @FILE with some.
    case headers
    /// It may have a login.
    case address
  }

  /// What holds where nothing is set.
  enum BuiltIn: Equatable {
    case value(String)
    /// Nothing, which means what the words say.
    case nothing(String)

    var value: String? { if case .value(let text) = self { text } else { nil } }
  }

  struct Row: Sendable {
    /// Without its dashes.
    let name: String
    /// As in `-j`.
    let letter: Character?
    let kind: Kind
    let memory: Memory
    let setting: Setting
    let builtIn: BuiltIn
    /// Nil where its value names no file.
    let file: FileUse?
    /// The values that a command has for it, as they would be typed; of a flag that is on, `yes`.
    let texts: @Sendable (GetCommand) -> [String]
    /// Gives a command what is set elsewhere. Throws a `ValidationError` that says what is no value of this option, and
    /// where it is from.
    let set: @Sendable (inout GetCommand, SettingsSources) throws -> Void

    /// As it is written on the command line.
    var spelled: String { "--\(name)" }

    /// Whether a value in the working folder's file holds.
    /// - Parameter own: that of the user's own file.
    func counts(_ text: String, besides own: String?) -> Bool {
      switch setting {
      case .nowhere, .byOwner: false
      case .bounded(let strictness): !strictness.isLooser(text, than: own)
      case .anywhere: true
      }
    }
  }

  static let rows: [Row] = [
    value("mode", letter: "m", .lasting, .anywhere, .value("parallel"), \.mode),
    flag("list", .lasting, .nowhere, \.list),
    value("directory", letter: "d", .lasting, .byOwner, .value("."), \.output.directory),
    value("output", letter: "o", .lasting, .nowhere, .nothing("by address or server"), \.output.output),
    value("on-conflict", .lasting, .bounded(.keeping), .value("rename"), \.output.onConflict),
    value("max-filesize", .lasting, .bounded(.less), .nothing("any length"), \.output.maxFilesize),
    flag("ask-names", .once, .anywhere, \.output.askNames),
    flag("no-cache", .lasting, .bounded(.on), \.output.noCache),
    value("store", .lasting, .anywhere, .value("auto"), \.output.store),
    value("cache-max-size", .lasting, .byOwner, .nothing("10G, or a tenth of the disk"), \.output.cacheMaxSize),
    flag("refresh", .once, .anywhere, \.output.refresh),
    flag("offline", .once, .bounded(.on), \.output.offline),
    flag("revalidate", .once, .bounded(.on), \.output.revalidate),
    flag("heuristic", .lasting, .bounded(.off), \.output.heuristic),
    value("max-age", .lasting, .bounded(.less), .nothing("any age"), \.output.maxAge),
    value("max-stale", .lasting, .bounded(.less), .nothing("none"), \.output.maxStale),
    flag("fsync", .lasting, .bounded(.on), \.output.fsync),
    flag("remote-time", .lasting, .anywhere, \.output.remoteTime),
    flag("no-content-disposition", .lasting, .bounded(.on), \.output.noContentDisposition),
    value("checksum", .lasting, .nowhere, .nothing("none"), \.proof.checksum),
    value("checksums", .lasting, .bounded(.own), .nothing("none"), file: .read, \.proof.checksums),
    value("require-proof", .lasting, .bounded(.proof), .value("none"), \.proof.requireProof),
    value("jobs", letter: "j", .lasting, .bounded(.less), .value("auto"), \.connection.jobs),
    value("per-host", .lasting, .bounded(.less), .value("auto"), \.connection.perHost),
    value("segments", letter: "s", .lasting, .bounded(.less), .value("auto"), \.connection.segments),
    values("first", .lasting, .anywhere, .nothing("none"), \.order.first),
    value("order", .lasting, .anywhere, .value("list"), \.order.order),
    flag("background", .lasting, .bounded(.on), \.order.background),
    value("limit-rate", .lasting, .bounded(.less), .nothing("no limit"), \.connection.limitRate),
    value("retries", .lasting, .bounded(.less), .value("5"), \.connection.retries),
    value("retry-max-time", .lasting, .bounded(.less), .nothing("no limit"), \.connection.retryMaxTime),
    value("connect-timeout", .lasting, .bounded(.less), .value("10"), \.connection.connectTimeout),
    value("stall-timeout", .lasting, .bounded(.less), .value("30"), \.connection.stallTimeout),
    values(
      "header", letter: "H", kind: .headers, .lasting, .byOwner, .nothing("none"), file: .read, \.connection.header),
    value("user-agent", .lasting, .anywhere, .value("dlm/\(DLM.version)"), \.connection.userAgent),
    value("cacert", .lasting, .byOwner, .nothing("the system's"), file: .read, \.connection.cacert),
    value("crlfile", .lasting, .byOwner, .nothing("none"), file: .read, \.connection.crlfile),
    value("cert", .lasting, .byOwner, .nothing("none"), file: .read, \.connection.cert),
    value("cert-type", .lasting, .byOwner, .nothing("as it shows"), \.connection.certType),
    value("key", .lasting, .byOwner, .nothing("in the certificate's file"), file: .read, \.connection.key),
    value(
      "cert-passphrase-file", .lasting, .byOwner, .nothing("asked for"), file: .read, \.connection.certPassphraseFile),
    value("pinnedpubkey", .lasting, .byOwner, .nothing("any"), file: .read, \.connection.pinnedpubkey),
    flag("tlsv1.2", .lasting, .byOwner, \.connection.tls12),
    flag("tlsv1.3", .lasting, .byOwner, \.connection.tls13),
    value("tls-max", .lasting, .byOwner, .nothing("the newest there is"), \.connection.tlsMax),
    flag("insecure", .lasting, .byOwner, \.connection.insecure),
    value(
      "proxy", kind: .address, .lasting, .byOwner, .nothing("http_proxy, https_proxy, all_proxy"), \.connection.proxy),
    value("netrc-file", .lasting, .byOwner, .nothing("none"), file: .read, \.connection.netrcFile),
    value("cookie-jar", .lasting, .byOwner, .nothing("none"), file: .written, \.connection.cookieJar),
    flag("http2", .lasting, .anywhere, \.connection.http2),
    value("progress", .once, .anywhere, .value("auto"), \.display.progress),
    value("failed", .once, .byOwner, .nothing("none"), file: .written, \.records.failed),
    value("events", .once, .byOwner, .nothing("none"), file: .written, \.records.events),
    value("summary-json", .once, .byOwner, .nothing("none"), file: .written, \.records.summaryJSON),
    value("report", .once, .byOwner, .nothing("none"), file: .written, \.display.report),
    flag("no-keys", .once, .anywhere, \.records.noKeys),
    flag("quiet", letter: "q", .once, .anywhere, \.display.quiet),
    flag("verbose", letter: "v", .once, .anywhere, \.display.verbose),
    flag("no-compare", .once, .anywhere, \.noCompare),
    flag("watch", .once, .anywhere, \.watching.watch),
    value("refresh-every", .once, .anywhere, .nothing("never"), \.watching.refreshEvery),
    flag("dry-run", .once, .nowhere, \.dryRun),
  ]

  /// What may be given several times.
  static let repeated = Set(rows.filter { [.values, .headers].contains($0.kind) }.map(\.name))

  /// Every key that a settings file, or DLM_… in the environment, may set. Loops have no option.
  static let settingKeys = Set(rows.filter { $0.setting != .nowhere }.map(\.name) + ["loops"])

  /// The values of a setting that has a line for each.
  static func lines(of text: String) -> [String] {
    text.split(whereSeparator: \.endsLine).filter { !$0.allSatisfy(\.isWhitespace) }.map(String.init)
  }

  private typealias Field<Value> = any WritableKeyPath<GetCommand, Value> & Sendable

  private static func flag(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting, _ field: Field<Bool>
  ) -> Row {
    Row(
      name: name, letter: letter, kind: .flag, memory: memory, setting: setting, builtIn: .value("no"),
      file: nil, texts: { $0[keyPath: field] ? ["yes"] : [] },
      set: { if let value: YesOrNo = try $1.value(name) { $0[keyPath: field] = value.isOn } })
  }

  private static func value<Value: ExpressibleByArgument>(
    _ name: String, letter: Character? = nil, kind: Kind = .value, _ memory: Memory, _ setting: Setting,
    _ builtIn: BuiltIn, file: FileUse? = nil, _ field: Field<Value?>
  ) -> Row {
    Row(
      name: name, letter: letter, kind: kind, memory: memory, setting: setting, builtIn: builtIn, file: file,
      texts: { $0[keyPath: field].map { [$0.defaultValueDescription] } ?? [] },
      set: { if let value: Value = try $1.value(name) { $0[keyPath: field] = value } })
  }

  private static func values<Value: ExpressibleByArgument>(
    _ name: String, letter: Character? = nil, kind: Kind = .values, _ memory: Memory, _ setting: Setting,
    _ builtIn: BuiltIn, file: FileUse? = nil, _ field: Field<[Value]>
  ) -> Row {
    Row(
      name: name, letter: letter, kind: kind, memory: memory, setting: setting, builtIn: builtIn, file: file,
      texts: { $0[keyPath: field].map(\.defaultValueDescription) },
      set: { command, sources in
        guard let text = sources.found(name)?.text else { return }
        command[keyPath: field] = lines(of: text).compactMap { Value(argument: $0) }
      })
  }
}

/// What a run was given and dlm does not store: the user must give it again if the run is repeated.
enum Withheld: Decodable, Equatable {
  /// `-H`, by the field's name.
  case header(name: String)
  /// `--proxy` with a login.
  case proxy
  /// Addresses of the command line or of a pipe with logins.
  case addressLogins
}

/// The options of a `get` as they would be typed, rebuilt from what was parsed: for `dlm get` without a SOURCE, which
/// takes them again.
///
/// If an option is given twice, the last one counts; so the remembered options, followed by those given now, are the
/// command of the repeated run.
struct RememberedOptions: Equatable {
  /// The options that also apply to a repeated run. No secrets.
  private(set) var lasting: [String] = []
  /// The options of this one run only, and those that are not stored.
  private var once: [String] = []
  private(set) var withheld: [Withheld] = []

  var typed: [String] { lasting + once }

  init(_ command: GetCommand) {
    for row in OptionTable.rows {
      for text in row.texts(command) {
        let secret: Withheld? =
          switch row.kind {
          case .headers where text.utf8.first != UInt8(ascii: "@"):
            .header(name: HeaderArgument(argument: text).name)
          case .address where text.utf8.contains(UInt8(ascii: "@")): .proxy
          default: nil
          }
        if let secret { withheld.append(secret) }
        // Joined with its value, which may begin with a dash.
        let option = row.kind == .flag ? row.spelled : "\(row.spelled)=\(text)"
        if row.memory == .lasting, secret == nil { lasting.append(option) } else { once.append(option) }
      }
    }
    if command.sources.contains(where: Self.hasLogin) { withheld.append(.addressLogins) }
  }

  private static func hasLogin(_ source: String) -> Bool {
    guard case .address(let text) = Source(source) else { return false }
    return (try? Address(text))?.hasCredentials == true
  }
}
