import DownloadCaching
import DownloadModel
import TerminalProgress

/// What a run was given and dlm does not write down: to be given again where the run is repeated.
enum Withheld: Codable, Equatable {
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
/// An option given twice counts as given last, so that what is remembered, followed by what is given now, is the
/// command of the repeated run.
struct RememberedOptions: Equatable {
  /// What holds for a repeated run too: mode, folder, connections, proof. No secrets.
  let lasting: [String]
  /// What was asked of this one run: how it speaks, what it does once, and what is not written down.
  let once: [String]
  let withheld: [Withheld]

  var typed: [String] { lasting + once }

  init(_ command: GetCommand) {
    var lasting = Typed()
    lasting.add("--mode", command.mode?.rawValue)
    lasting.add("--list", command.list)
    lasting.add(command.output)
    lasting.add(command.proof)
    lasting.add(command.connection)
    var once = Typed()
    var withheld: [Withheld] = []
    for header in command.connection.header {
      // Where secrets are is none.
      if header.isFile {
        lasting.add("--header", header.text)
      } else {
        once.add("--header", header.text)
        withheld.append(.header(name: header.name))
      }
    }
    if let proxy = command.connection.proxy {
      let hasLogin = proxy.utf8.contains(UInt8(ascii: "@"))
      if hasLogin { withheld.append(.proxy) }
      if hasLogin { once.add("--proxy", proxy) } else { lasting.add("--proxy", proxy) }
    }
    once.add("--refresh", command.output.refresh)
    once.add("--offline", command.output.offline)
    once.add("--ask-names", command.output.askNames)
    once.add("--no-compare", command.noCompare)
    once.add("--dry-run", command.dryRun)
    once.add("--progress", command.display.progress?.rawValue)
    once.add("--failed", command.display.failed)
    once.add("--quiet", command.display.quiet)
    once.add("--verbose", command.display.verbose)
    let hasLogins = command.sources.contains { source in
      if case .address(let text) = Source(source) {
        (try? Address(text))?.hasCredentials == true
      } else {
        false
      }
    }
    if hasLogins { withheld.append(.addressLogins) }
    self.lasting = lasting.arguments
    self.once = once.arguments
    self.withheld = withheld
  }
}

/// Options joined with their values, so that a value may begin with a dash.
private struct Typed {
  private(set) var arguments: [String] = []

  mutating func add(_ name: String, _ value: String?) {
    if let value { arguments.append("\(name)=\(value)") }
  }

  mutating func add(_ name: String, _ isGiven: Bool) {
    if isGiven { arguments.append(name) }
  }

  mutating func add(_ options: OutputOptions) {
    add("--directory", options.directory)
    add("--output", options.output)
    add("--on-conflict", options.onConflict?.rawValue)
    add("--max-filesize", options.maxFilesize.map { "\($0.bytesPerSecond)" })
    add("--no-cache", options.noCache)
    add("--fsync", options.fsync)
    add("--remote-time", options.remoteTime)
    add("--no-content-disposition", options.noContentDisposition)
  }

  mutating func add(_ options: ProofOptions) {
    add("--checksum", options.checksum.map { "\($0)" })
    add("--checksums", options.checksums)
    add("--require-proof", options.requireProof?.rawValue)
  }

  /// Without `--header` and `--proxy`, which may be secrets.
  mutating func add(_ options: ConnectionOptions) {
    add("--jobs", options.jobs?.text)
    add("--per-host", options.perHost?.text)
    add("--segments", options.segments?.text)
    add("--limit-rate", options.limitRate.map { "\($0.bytesPerSecond)" })
    add("--retries", options.retries.map { "\($0.number)" })
    add("--retry-max-time", options.retryMaxTime?.text)
    add("--connect-timeout", options.connectTimeout?.text)
    add("--stall-timeout", options.stallTimeout?.text)
    add("--user-agent", options.userAgent)
    add("--cacert", options.cacert)
    add("--crlfile", options.crlfile)
    // Where secrets are is none; the pass phrase itself is no option.
    add("--cert", options.cert)
    add("--cert-type", options.certType?.rawValue)
    add("--key", options.key)
    add("--cert-passphrase-file", options.certPassphraseFile)
    add("--pinnedpubkey", options.pinnedpubkey)
    add("--tlsv1.2", options.tls12)
    add("--tlsv1.3", options.tls13)
    add("--tls-max", options.tlsMax?.text)
    add("--insecure", options.insecure)
    add("--netrc-file", options.netrcFile)
    add("--cookie-jar", options.cookieJar)
    add("--http2", options.http2)
  }
}

extension Parallelism {
  fileprivate var text: String {
    switch self {
    case .auto: "auto"
    case .exactly(let number): "\(number)"
    }
  }
}

extension Seconds {
  fileprivate var text: String { "\(duration / .seconds(1))" }
}

extension HeaderArgument {
  /// Whether it names a file with header lines.
  var isFile: Bool { text.utf8.first == UInt8(ascii: "@") }

  /// `Accept` of `Accept: text/html`.
  var name: String {
    String(decoding: text.utf8.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ";") }, as: UTF8.self)
  }
}
