import ArgumentParser
import DownloadCaching
import DownloadModel
import TerminalProgress

/// Every option of `dlm get`, once: where it stands in a command, whether a repeated run uses it again, and
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
    /// As in `-j`.
    let letter: Character?
    let memory: Memory
    let setting: Setting
    let builtIn: BuiltIn
    fileprivate let access: Access

    fileprivate init(
      _ name: String, _ letter: Character?, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
      _ access: Access
    ) {
      (self.name, self.letter, self.memory, self.setting) = (name, letter, memory, setting)
      (self.builtIn, self.access) = (builtIn, access)
    }

    /// As it is written on the command line.
    var spelled: String { "--\(name)" }

    var isFlag: Bool { access.isFlag }

    func given(in command: GetCommand) -> Given { access.read(command) }

    /// Gives it a value, as the command line does; nil for a flag.
    /// - Returns: false if that is no value of this option.
    func set(_ text: String?, in command: inout GetCommand) -> Bool { access.write(&command, text) }
  }

  /// Where an option stands in a command.
  fileprivate struct Access: Sendable {
    var isFlag = false
    let read: @Sendable (GetCommand) -> Given
    let write: @Sendable (inout GetCommand, String?) -> Bool

    typealias Field<Value> = any WritableKeyPath<GetCommand, Value> & Sendable

    static func flag(_ field: Field<Bool>) -> Self {
      Access(
        isFlag: true, read: { .flag($0[keyPath: field]) },
        write: { command, text in
          guard text == nil, !command[keyPath: field] else { return false }
          command[keyPath: field] = true
          return true
        })
    }

    static func value<Value: ExpressibleByArgument>(
      _ field: Field<Value?>, _ given: @escaping @Sendable (Value?) -> Given
    ) -> Self {
      Access(
        read: { given($0[keyPath: field]) },
        write: { command, text in
          guard let value = text.flatMap({ Value(argument: $0) }) else { return false }
          command[keyPath: field] = value
          return true
        })
    }

    static func values<Value: ExpressibleByArgument>(
      _ field: Field<[Value]>, _ given: @escaping @Sendable ([Value]) -> Given
    ) -> Self {
      Access(
        read: { given($0[keyPath: field]) },
        write: { command, text in
          guard let value = text.flatMap({ Value(argument: $0) }) else { return false }
          command[keyPath: field].append(value)
          return true
        })
    }
  }

  static let rows: [Row] = [
    value("mode", letter: "m", .lasting, .anywhere, .value("parallel"), \.mode),
    flag("list", .lasting, .nowhere, \.list),
    value("directory", letter: "d", .lasting, .byOwner, .value("."), \.output.directory),
    value("output", letter: "o", .lasting, .nowhere, .nothing("by address or server"), \.output.output),
    value("on-conflict", .lasting, .anywhere, .value("rename"), \.output.onConflict),
    value("max-filesize", .lasting, .anywhere, .nothing("any length"), \.output.maxFilesize),
    flag("ask-names", .once, .anywhere, \.output.askNames),
    flag("no-cache", .lasting, .anywhere, \.output.noCache),
    value("store", .lasting, .anywhere, .value("auto"), \.output.store),
    value(
      "cache-max-size", .lasting, .byOwner, .nothing("10G, or a tenth of the disk"), \.output.cacheMaxSize),
    flag("refresh", .once, .anywhere, \.output.refresh),
    flag("offline", .once, .anywhere, \.output.offline),
    flag("revalidate", .once, .anywhere, \.output.revalidate),
    flag("heuristic", .lasting, .anywhere, \.output.heuristic),
    value("max-age", .lasting, .anywhere, .nothing("any age"), \.output.maxAge),
    value("max-stale", .lasting, .anywhere, .nothing("none"), \.output.maxStale),
    flag("fsync", .lasting, .anywhere, \.output.fsync),
    flag("remote-time", .lasting, .anywhere, \.output.remoteTime),
    flag("no-content-disposition", .lasting, .anywhere, \.output.noContentDisposition),
    value("checksum", .lasting, .nowhere, .nothing("none"), \.proof.checksum),
    value("checksums", .lasting, .anywhere, .nothing("none"), \.proof.checksums),
    value("require-proof", .lasting, .anywhere, .value("none"), \.proof.requireProof),
    value("jobs", letter: "j", .lasting, .anywhere, .value("auto"), \.connection.jobs),
    value("per-host", .lasting, .anywhere, .value("auto"), \.connection.perHost),
    value("segments", letter: "s", .lasting, .anywhere, .value("auto"), \.connection.segments),
    Row("first", nil, .lasting, .anywhere, .nothing("none"), .values(\.order.first) { .values($0) }),
    value("order", .lasting, .anywhere, .value("list"), \.order.order),
    flag("background", .lasting, .anywhere, \.order.background),
    value("limit-rate", .lasting, .anywhere, .nothing("no limit"), \.connection.limitRate),
    value("retries", .lasting, .anywhere, .value("5"), \.connection.retries),
    value("retry-max-time", .lasting, .anywhere, .nothing("no limit"), \.connection.retryMaxTime),
    value("connect-timeout", .lasting, .anywhere, .value("10"), \.connection.connectTimeout),
    value("stall-timeout", .lasting, .anywhere, .value("30"), \.connection.stallTimeout),
    Row("header", "H", .lasting, .byOwner, .nothing("none"), .values(\.connection.header) { .headers($0) }),
    value("user-agent", .lasting, .anywhere, .value("dlm/\(DLM.version)"), \.connection.userAgent),
    value("cacert", .lasting, .byOwner, .nothing("the system's"), \.connection.cacert),
    value("crlfile", .lasting, .byOwner, .nothing("none"), \.connection.crlfile),
    value("cert", .lasting, .byOwner, .nothing("none"), \.connection.cert),
    value("cert-type", .lasting, .byOwner, .nothing("as it shows"), \.connection.certType),
    value("key", .lasting, .byOwner, .nothing("in the certificate's file"), \.connection.key),
    value("cert-passphrase-file", .lasting, .byOwner, .nothing("asked for"), \.connection.certPassphraseFile),
    value("pinnedpubkey", .lasting, .byOwner, .nothing("any"), \.connection.pinnedpubkey),
    flag("tlsv1.2", .lasting, .byOwner, \.connection.tls12),
    flag("tlsv1.3", .lasting, .byOwner, \.connection.tls13),
    Row(
      "tls-max", nil, .lasting, .byOwner, .nothing("the newest there is"),
      .value(\.connection.tlsMax) { .value($0?.text) }),
    flag("insecure", .lasting, .byOwner, \.connection.insecure),
    Row(
      "proxy", nil, .lasting, .byOwner, .nothing("http_proxy, https_proxy, all_proxy"),
      .value(\.connection.proxy) { .address($0) }),
    value("netrc-file", .lasting, .byOwner, .nothing("none"), \.connection.netrcFile),
    value("cookie-jar", .lasting, .byOwner, .nothing("none"), \.connection.cookieJar),
    flag("http2", .lasting, .anywhere, \.connection.http2),
    value("progress", .once, .anywhere, .value("auto"), \.display.progress),
    value("failed", .once, .byOwner, .nothing("none"), \.display.failed),
    value("events", .once, .byOwner, .nothing("none"), \.display.events),
    value("summary-json", .once, .byOwner, .nothing("none"), \.display.summaryJSON),
    flag("no-keys", .once, .anywhere, \.display.noKeys),
    flag("quiet", letter: "q", .once, .anywhere, \.display.quiet),
    flag("verbose", letter: "v", .once, .anywhere, \.display.verbose),
    flag("no-compare", .once, .anywhere, \.noCompare),
    flag("watch", .once, .anywhere, \.watching.watch),
    value("refresh-every", .once, .anywhere, .nothing("never"), \.watching.refreshEvery),
    flag("dry-run", .once, .nowhere, \.dryRun),
  ]

  /// Every key that a settings file, or DLM_… in the environment, may set. The number of loops has no option.
  static let settingKeys = Set(rows.filter { $0.setting != .nowhere }.map(\.name) + ["loops"])

  /// Keys that do not count in the working folder.
  static let ownersKeys = Set(rows.filter { $0.setting == .byOwner }.map(\.name))

  private static func value<Value: ExpressibleByArgument & CustomStringConvertible>(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
    _ field: Access.Field<Value?>
  ) -> Row {
    Row(name, letter, memory, setting, builtIn, .value(field) { .value($0?.description) })
  }

  private static func value<Value: ExpressibleByArgument & RawRepresentable<String>>(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
    _ field: Access.Field<Value?>
  ) -> Row {
    Row(name, letter, memory, setting, builtIn, .value(field) { .value($0?.rawValue) })
  }

  private static func flag(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting,
    _ field: Access.Field<Bool>
  ) -> Row {
    Row(name, letter, memory, setting, .value("no"), .flag(field))
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
