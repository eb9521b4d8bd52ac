import DownloadCaching
import DownloadModel
import TerminalProgress

/// Every option of `dlm get`, once: how it is read from a command, whether a repeated run uses it again, and
/// where else it may be set.
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
  enum Setting {
    /// It is of the one thing that is typed beside it.
    case nowhere
    /// DLM_… in the environment, `config.yaml`, and the working folder's `.dlm.yaml`.
    case anywhere
    /// Not in the working folder: whom dlm trusts, and where it writes (HTTP rule 45).
    case byOwner
  }

  /// The value that a command was given for one option.
  enum Given {
    case flag(Bool)
    case value(String?)
    /// An address, which may have a login.
    case address(String?)
    case headers([HeaderArgument])
    /// What may be given several times.
    case values([String])
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
    let memory: Memory
    let setting: Setting
    let builtIn: BuiltIn
    private let read: @Sendable (GetCommand) -> Given

    fileprivate init(
      _ name: String, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
      read: @escaping @Sendable (GetCommand) -> Given
    ) {
      (self.name, self.memory, self.setting, self.read) = (name, memory, setting, read)
      self.builtIn = builtIn
    }

    /// As it is written on the command line.
    var spelled: String { "--\(name)" }

    func given(in command: GetCommand) -> Given { read(command) }
  }

  static let rows: [Row] = [
    value("mode", .lasting, .anywhere, .value("parallel")) { $0.mode?.rawValue },
    flag("list", .lasting, .nowhere) { $0.list },
    value("directory", .lasting, .byOwner, .value(".")) { $0.output.directory },
    value("output", .lasting, .nowhere, .nothing("by address or server")) { $0.output.output },
    value("on-conflict", .lasting, .anywhere, .value("rename")) { $0.output.onConflict?.rawValue },
    value("max-filesize", .lasting, .anywhere, .nothing("any length")) { $0.output.maxFilesize?.description },
    flag("ask-names", .once, .anywhere) { $0.output.askNames },
    flag("no-cache", .lasting, .anywhere) { $0.output.noCache },
    value("store", .lasting, .anywhere, .value("auto")) { $0.output.store?.rawValue },
    value("cache-max-size", .lasting, .byOwner, .nothing("10G, or a tenth of the disk")) {
      $0.output.cacheMaxSize?.description
    },
    flag("refresh", .once, .anywhere) { $0.output.refresh },
    flag("offline", .once, .anywhere) { $0.output.offline },
    flag("revalidate", .once, .anywhere) { $0.output.revalidate },
    flag("heuristic", .lasting, .anywhere) { $0.output.heuristic },
    value("max-age", .lasting, .anywhere, .nothing("any age")) { $0.output.maxAge?.description },
    value("max-stale", .lasting, .anywhere, .nothing("none")) { $0.output.maxStale?.description },
    flag("fsync", .lasting, .anywhere) { $0.output.fsync },
    flag("remote-time", .lasting, .anywhere) { $0.output.remoteTime },
    flag("no-content-disposition", .lasting, .anywhere) { $0.output.noContentDisposition },
    value("checksum", .lasting, .nowhere, .nothing("none")) { $0.proof.checksum?.description },
    value("checksums", .lasting, .anywhere, .nothing("none")) { $0.proof.checksums },
    value("require-proof", .lasting, .anywhere, .value("none")) { $0.proof.requireProof?.rawValue },
    value("jobs", .lasting, .anywhere, .value("auto")) { $0.connection.jobs?.description },
    value("per-host", .lasting, .anywhere, .value("auto")) { $0.connection.perHost?.description },
    value("segments", .lasting, .anywhere, .value("auto")) { $0.connection.segments?.description },
    Row("first", .lasting, .anywhere, .nothing("none")) { .values($0.order.first) },
    value("order", .lasting, .anywhere, .value("list")) { $0.order.order?.rawValue },
    flag("background", .lasting, .anywhere) { $0.order.background },
    value("limit-rate", .lasting, .anywhere, .nothing("no limit")) { $0.connection.limitRate?.description },
    value("retries", .lasting, .anywhere, .value("5")) { $0.connection.retries?.description },
    value("retry-max-time", .lasting, .anywhere, .nothing("no limit")) {
      $0.connection.retryMaxTime?.description
    },
    value("connect-timeout", .lasting, .anywhere, .value("10")) { $0.connection.connectTimeout?.description },
    value("stall-timeout", .lasting, .anywhere, .value("30")) { $0.connection.stallTimeout?.description },
    Row("header", .lasting, .byOwner, .nothing("none")) { .headers($0.connection.header) },
    value("user-agent", .lasting, .anywhere, .value("dlm/\(DLM.version)")) { $0.connection.userAgent },
    value("cacert", .lasting, .byOwner, .nothing("the system's")) { $0.connection.cacert },
    value("crlfile", .lasting, .byOwner, .nothing("none")) { $0.connection.crlfile },
    value("cert", .lasting, .byOwner, .nothing("none")) { $0.connection.cert },
    value("cert-type", .lasting, .byOwner, .nothing("as it shows")) { $0.connection.certType?.rawValue },
    value("key", .lasting, .byOwner, .nothing("in the certificate's file")) { $0.connection.key },
    value("cert-passphrase-file", .lasting, .byOwner, .nothing("asked for")) {
      $0.connection.certPassphraseFile
    },
    value("pinnedpubkey", .lasting, .byOwner, .nothing("any")) { $0.connection.pinnedpubkey },
    flag("tlsv1.2", .lasting, .byOwner) { $0.connection.tls12 },
    flag("tlsv1.3", .lasting, .byOwner) { $0.connection.tls13 },
    value("tls-max", .lasting, .byOwner, .nothing("the newest there is")) { $0.connection.tlsMax?.text },
    flag("insecure", .lasting, .byOwner) { $0.connection.insecure },
    Row("proxy", .lasting, .byOwner, .nothing("http_proxy, https_proxy, all_proxy")) {
      .address($0.connection.proxy)
    },
    value("netrc-file", .lasting, .byOwner, .nothing("none")) { $0.connection.netrcFile },
    value("cookie-jar", .lasting, .byOwner, .nothing("none")) { $0.connection.cookieJar },
    flag("http2", .lasting, .anywhere) { $0.connection.http2 },
    value("progress", .once, .anywhere, .value("auto")) { $0.display.progress?.rawValue },
    value("failed", .once, .byOwner, .nothing("none")) { $0.display.failed },
    value("events", .once, .byOwner, .nothing("none")) { $0.display.events },
    value("summary-json", .once, .byOwner, .nothing("none")) { $0.display.summaryJSON },
    flag("no-keys", .once, .anywhere) { $0.display.noKeys },
    flag("quiet", .once, .anywhere) { $0.display.quiet },
    flag("verbose", .once, .anywhere) { $0.display.verbose },
    flag("no-compare", .once, .anywhere) { $0.noCompare },
    flag("watch", .once, .anywhere) { $0.watching.watch },
    value("refresh-every", .once, .anywhere, .nothing("never")) { $0.watching.refreshEvery?.description },
    flag("dry-run", .once, .nowhere) { $0.dryRun },
  ]

  /// Every key that a settings file, or DLM_… in the environment, may set. The number of loops has no option.
  static let settingKeys = Set(rows.filter { $0.setting != .nowhere }.map(\.name) + ["loops"])

  /// Keys that do not count in the working folder.
  static let ownersKeys = Set(rows.filter { $0.setting == .byOwner }.map(\.name))

  private static func value(
    _ name: String, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
    read: @escaping @Sendable (GetCommand) -> String?
  ) -> Row {
    Row(name, memory, setting, builtIn) { .value(read($0)) }
  }

  private static func flag(
    _ name: String, _ memory: Memory, _ setting: Setting, read: @escaping @Sendable (GetCommand) -> Bool
  ) -> Row {
    Row(name, memory, setting, .value("no")) { .flag(read($0)) }
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

/// The options of a `get` as they would be typed, rebuilt from what was parsed: for `dlm get` without a
/// SOURCE, which takes them again.
///
/// If an option is given twice, the last one counts; so the remembered options, followed by those given now,
/// are the command of the repeated run.
struct RememberedOptions: Equatable {
  /// The options that also apply to a repeated run. No secrets.
  private(set) var lasting: [String] = []
  /// The options of this one run only, and those that are not stored.
  private var once: [String] = []
  private(set) var withheld: [Withheld] = []

  var typed: [String] { lasting + once }

  init(_ command: GetCommand) {
    // Options that may hold a secret come after the rest, as in earlier versions.
    var guarded: [String] = []
    for row in OptionTable.rows {
      switch row.given(in: command) {
      case .flag(let isOn): if isOn { add(row.spelled, row.memory) }
      case .value(let text): if let text { add("\(row.spelled)=\(text)", row.memory) }
      case .values(let texts): for text in texts { add("\(row.spelled)=\(text)", row.memory) }
      case .headers(let headers):
        for header in headers {
          // The path of a file with secrets is not a secret.
          if !header.isFile { withheld.append(.header(name: header.name)) }
          let option = "\(row.spelled)=\(header.text)"
          if header.isFile { guarded.append(option) } else { once.append(option) }
        }
      case .address(let text):
        guard let text else { continue }
        let hasLogin = text.utf8.contains(UInt8(ascii: "@"))
        if hasLogin { withheld.append(.proxy) }
        if hasLogin {
          once.append("\(row.spelled)=\(text)")
        } else {
          guarded.append("\(row.spelled)=\(text)")
        }
      }
    }
    lasting += guarded
    if command.sources.contains(where: Self.hasLogin) { withheld.append(.addressLogins) }
  }

  /// - Parameter option: joined with its value, so that this may begin with a dash.
  private mutating func add(_ option: String, _ memory: OptionTable.Memory) {
    if memory == .lasting { lasting.append(option) } else { once.append(option) }
  }

  private static func hasLogin(_ source: String) -> Bool {
    guard case .address(let text) = Source(source) else { return false }
    return (try? Address(text))?.hasCredentials == true
  }
}
