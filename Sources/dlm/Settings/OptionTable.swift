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
    /// Nil where its value names no file.
    let file: FileUse?
    fileprivate let access: Access

    fileprivate init(
      _ name: String, _ letter: Character?, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
      file: FileUse? = nil, _ access: Access
    ) {
      (self.name, self.letter, self.memory, self.setting) = (name, letter, memory, setting)
      (self.builtIn, self.file, self.access) = (builtIn, file, access)
    }

    /// As it is written on the command line.
    var spelled: String { "--\(name)" }

    var isFlag: Bool { access.isFlag }

    func given(in command: GetCommand) -> Given { access.read(command) }

    /// Whether a value in the working folder's file holds.
    /// - Parameter own: that of the user's own file.
    func counts(_ text: String, besides own: String?) -> Bool {
      switch setting {
      case .nowhere, .byOwner: false
      case .bounded(let strictness): !strictness.isLooser(text, than: own)
      case .anywhere: true
      }
    }

    /// Gives it a value, as the command line does; nil for a flag.
    /// - Returns: false if that is no value of this option.
    func set(_ text: String?, in command: inout GetCommand) -> Bool { access.write(&command, text) }
  }

  /// Where an option stands in a command.
  fileprivate struct Access: Sendable {
    var isFlag = false
    let read: @Sendable (GetCommand) -> Given
    let write: @Sendable (inout GetCommand, String?) -> Bool

    /// Gives a closure the option's value to read or change. Not a key path, since the runtime makes those at
    /// their first use: sixty of them took as long as what they are for.
    typealias Field<Value> = @Sendable (inout GetCommand, (inout Value) -> Void) -> Void

    static func flag(_ field: @escaping Field<Bool>) -> Self {
      Access(
        isFlag: true, read: { .flag(value(of: field, in: $0, else: false)) },
        write: { command, text in
          var isNew = false
          field(&command) {
            isNew = text == nil && !$0
            $0 = true
          }
          return isNew
        })
    }

    static func value<Value: ExpressibleByArgument>(
      _ field: @escaping Field<Value?>, given: @escaping @Sendable (Value?) -> Given
    ) -> Self {
      Access(
        read: { given(value(of: field, in: $0, else: nil)) },
        write: { command, text in
          guard let value = text.flatMap({ Value(argument: $0) }) else { return false }
          field(&command) { $0 = value }
          return true
        })
    }

    static func values<Value: ExpressibleByArgument>(
      _ field: @escaping Field<[Value]>, given: @escaping @Sendable ([Value]) -> Given
    ) -> Self {
      Access(
        read: { given(value(of: field, in: $0, else: [])) },
        write: { command, text in
          guard let value = text.flatMap({ Value(argument: $0) }) else { return false }
          field(&command) { $0.append(value) }
          return true
        })
    }

    private static func value<Value>(
      of field: Field<Value>, in command: GetCommand, else none: Value
    ) -> Value {
      var (command, value) = (command, none)
      field(&command) { value = $0 }
      return value
    }
  }

  static let rows: [Row] = [
    value("mode", letter: "m", .lasting, .anywhere, .value("parallel")) { $1(&$0.mode) },
    flag("list", .lasting, .nowhere) { $1(&$0.list) },
    value("directory", letter: "d", .lasting, .byOwner, .value(".")) { $1(&$0.output.directory) },
    value("output", letter: "o", .lasting, .nowhere, .nothing("by address or server")) {
      $1(&$0.output.output)
    },
    value("on-conflict", .lasting, .bounded(.keeping), .value("rename")) { $1(&$0.output.onConflict) },
    value("max-filesize", .lasting, .bounded(.less), .nothing("any length")) { $1(&$0.output.maxFilesize) },
    flag("ask-names", .once, .anywhere) { $1(&$0.output.askNames) },
    flag("no-cache", .lasting, .bounded(.on)) { $1(&$0.output.noCache) },
    value("store", .lasting, .anywhere, .value("auto")) { $1(&$0.output.store) },
    value(
      "cache-max-size", .lasting, .byOwner, .nothing("10G, or a tenth of the disk")
    ) { $1(&$0.output.cacheMaxSize) },
    flag("refresh", .once, .anywhere) { $1(&$0.output.refresh) },
    flag("offline", .once, .bounded(.on)) { $1(&$0.output.offline) },
    flag("revalidate", .once, .bounded(.on)) { $1(&$0.output.revalidate) },
    flag("heuristic", .lasting, .bounded(.off)) { $1(&$0.output.heuristic) },
    value("max-age", .lasting, .bounded(.less), .nothing("any age")) { $1(&$0.output.maxAge) },
    value("max-stale", .lasting, .bounded(.less), .nothing("none")) { $1(&$0.output.maxStale) },
    flag("fsync", .lasting, .bounded(.on)) { $1(&$0.output.fsync) },
    flag("remote-time", .lasting, .anywhere) { $1(&$0.output.remoteTime) },
    flag("no-content-disposition", .lasting, .bounded(.on)) { $1(&$0.output.noContentDisposition) },
    value("checksum", .lasting, .nowhere, .nothing("none")) { $1(&$0.proof.checksum) },
    value("checksums", .lasting, .bounded(.own), .nothing("none"), file: .read) { $1(&$0.proof.checksums) },
    value("require-proof", .lasting, .bounded(.proof), .value("none")) { $1(&$0.proof.requireProof) },
    value("jobs", letter: "j", .lasting, .bounded(.less), .value("auto")) { $1(&$0.connection.jobs) },
    value("per-host", .lasting, .bounded(.less), .value("auto")) { $1(&$0.connection.perHost) },
    value("segments", letter: "s", .lasting, .bounded(.less), .value("auto")) { $1(&$0.connection.segments) },
    Row(
      "first", nil, .lasting, .anywhere, .nothing("none"),
      .values({ $1(&$0.order.first) }, given: { .values($0) })),
    value("order", .lasting, .anywhere, .value("list")) { $1(&$0.order.order) },
    flag("background", .lasting, .bounded(.on)) { $1(&$0.order.background) },
    value("limit-rate", .lasting, .bounded(.less), .nothing("no limit")) { $1(&$0.connection.limitRate) },
    value("retries", .lasting, .bounded(.less), .value("5")) { $1(&$0.connection.retries) },
    value("retry-max-time", .lasting, .bounded(.less), .nothing("no limit")) {
      $1(&$0.connection.retryMaxTime)
    },
    value("connect-timeout", .lasting, .bounded(.less), .value("10")) { $1(&$0.connection.connectTimeout) },
    value("stall-timeout", .lasting, .bounded(.less), .value("30")) { $1(&$0.connection.stallTimeout) },
    Row(
      "header", "H", .lasting, .byOwner, .nothing("none"), file: .read,
      .values({ $1(&$0.connection.header) }, given: { .headers($0) })),
    value("user-agent", .lasting, .anywhere, .value("dlm/\(DLM.version)")) { $1(&$0.connection.userAgent) },
    value("cacert", .lasting, .byOwner, .nothing("the system's"), file: .read) { $1(&$0.connection.cacert) },
    value("crlfile", .lasting, .byOwner, .nothing("none"), file: .read) { $1(&$0.connection.crlfile) },
    value("cert", .lasting, .byOwner, .nothing("none"), file: .read) { $1(&$0.connection.cert) },
    value("cert-type", .lasting, .byOwner, .nothing("as it shows")) { $1(&$0.connection.certType) },
    value("key", .lasting, .byOwner, .nothing("in the certificate's file"), file: .read) {
      $1(&$0.connection.key)
    },
    value("cert-passphrase-file", .lasting, .byOwner, .nothing("asked for"), file: .read) {
      $1(&$0.connection.certPassphraseFile)
    },
    value("pinnedpubkey", .lasting, .byOwner, .nothing("any"), file: .read) {
      $1(&$0.connection.pinnedpubkey)
    },
    flag("tlsv1.2", .lasting, .byOwner) { $1(&$0.connection.tls12) },
    flag("tlsv1.3", .lasting, .byOwner) { $1(&$0.connection.tls13) },
    Row(
      "tls-max", nil, .lasting, .byOwner, .nothing("the newest there is"),
      .value({ $1(&$0.connection.tlsMax) }, given: { .value($0?.text) })),
    flag("insecure", .lasting, .byOwner) { $1(&$0.connection.insecure) },
    Row(
      "proxy", nil, .lasting, .byOwner, .nothing("http_proxy, https_proxy, all_proxy"),
      .value({ $1(&$0.connection.proxy) }, given: { .address($0) })),
    value("netrc-file", .lasting, .byOwner, .nothing("none"), file: .read) { $1(&$0.connection.netrcFile) },
    value("cookie-jar", .lasting, .byOwner, .nothing("none"), file: .written) {
      $1(&$0.connection.cookieJar)
    },
    flag("http2", .lasting, .anywhere) { $1(&$0.connection.http2) },
    value("progress", .once, .anywhere, .value("auto")) { $1(&$0.display.progress) },
    value("failed", .once, .byOwner, .nothing("none"), file: .written) { $1(&$0.records.failed) },
    value("events", .once, .byOwner, .nothing("none"), file: .written) { $1(&$0.records.events) },
    value("summary-json", .once, .byOwner, .nothing("none"), file: .written) { $1(&$0.records.summaryJSON) },
    value("report", .once, .byOwner, .nothing("none"), file: .written) { $1(&$0.display.report) },
    flag("no-keys", .once, .anywhere) { $1(&$0.records.noKeys) },
    flag("quiet", letter: "q", .once, .anywhere) { $1(&$0.display.quiet) },
    flag("verbose", letter: "v", .once, .anywhere) { $1(&$0.display.verbose) },
    flag("no-compare", .once, .anywhere) { $1(&$0.noCompare) },
    flag("watch", .once, .anywhere) { $1(&$0.watching.watch) },
    value("refresh-every", .once, .anywhere, .nothing("never")) { $1(&$0.watching.refreshEvery) },
    flag("dry-run", .once, .nowhere) { $1(&$0.dryRun) },
  ]

  /// What may be given several times.
  static let repeated: Set = ["first", "header"]

  /// Every key that a settings file, or DLM_… in the environment, may set. The number of loops has no option.
  static let settingKeys = Set(rows.filter { $0.setting != .nowhere }.map(\.name) + ["loops"])

  private static func value<Value: ExpressibleByArgument & CustomStringConvertible>(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
    file: FileUse? = nil, _ field: @escaping Access.Field<Value?>
  ) -> Row {
    Row(name, letter, memory, setting, builtIn, file: file, .value(field, given: { .value($0?.description) }))
  }

  private static func value<Value: ExpressibleByArgument & RawRepresentable<String>>(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting, _ builtIn: BuiltIn,
    file: FileUse? = nil, _ field: @escaping Access.Field<Value?>
  ) -> Row {
    Row(name, letter, memory, setting, builtIn, file: file, .value(field, given: { .value($0?.rawValue) }))
  }

  private static func flag(
    _ name: String, letter: Character? = nil, _ memory: Memory, _ setting: Setting,
    _ field: @escaping Access.Field<Bool>
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
