import ArgumentParser
import CurlTransport
import DownloadCaching
import DownloadModel
import TerminalProgress

// The options of the contract, in groups that commands share. All are optional: what is not given here may stand
// in the environment or in a settings file (see Settings).

struct ConnectionOptions: ParsableArguments {
  @Option(
    name: [.customShort("j", allowingJoined: true), .long],
    help: ArgumentHelp(
      "Files at a time, at most 64 for auto.", discussion: "", valueName: "N|auto"))
  var jobs: Parallelism?

  @Option(help: ArgumentHelp("Connections to one host, over all files and pieces.", valueName: "N|auto"))
  var perHost: Parallelism?

  @Option(
    name: [.customShort("s", allowingJoined: true), .long],
    help: ArgumentHelp(
      "Pieces of one large file at a time; auto splits where it helps, sequential never.", valueName: "N|auto"
    )
  )
  var segments: Parallelism?

  @Option(help: ArgumentHelp("Bytes a second over everything: 500K, 5M.", valueName: "rate"))
  var limitRate: ByteRate?

  @Option(help: ArgumentHelp("Attempts after the first, for failures that may pass.", valueName: "N"))
  var retries: Count?

  @Option(help: ArgumentHelp("No retry begins later than this after the first attempt.", valueName: "S"))
  var retryMaxTime: Seconds?

  @Option(help: ArgumentHelp("Seconds until a connection must be up.", valueName: "S"))
  var connectTimeout: Seconds?

  @Option(help: ArgumentHelp("Seconds without a byte until a transfer has stalled.", valueName: "S"))
  var stallTimeout: Seconds?

  @Option(
    name: [.customShort("H", allowingJoined: true), .long],
    help: ArgumentHelp(
      "A header line for the address's own server; @FILE takes them from a file, a line each.",
      valueName: "line")
  )
  var header: [HeaderArgument] = []

  @Option(help: "How dlm names itself to servers.")
  var userAgent: String?

  @Option(help: ArgumentHelp("Certificates to trust, in PEM.", valueName: "file"), completion: .file())
  var cacert: String?

  @Option(
    help: ArgumentHelp(
      "Revoked certificates, in PEM: a list from each issuer, the root's too.", valueName: "file"),
    completion: .file())
  var crlfile: String?

  @Option(
    help: ArgumentHelp(
      "Your certificate, in PEM or PKCS #12. Its pass phrase: DLM_CERT_PASSPHRASE, a file, or as asked at the terminal.",
      valueName: "file"),
    completion: .file())
  var cert: String?

  @Option(help: ArgumentHelp("What --cert holds, where it does not show.", valueName: "PEM|P12"))
  var certType: CertificateType?

  @Option(help: ArgumentHelp("The private key of --cert, in PEM.", valueName: "file"), completion: .file())
  var key: String?

  @Option(
    help: ArgumentHelp("A file whose first line is the pass phrase of --cert or --key.", valueName: "file"),
    completion: .file())
  var certPassphraseFile: String?

  @Option(
    help: ArgumentHelp(
      "The only public keys that servers may have: sha256//BASE64;sha256//…, or a file.", valueName: "keys"),
    completion: .file())
  var pinnedpubkey: String?

  @Flag(name: .customLong("tlsv1.2"), help: "TLS 1.2 or newer.")
  var tls12 = false

  @Flag(name: .customLong("tlsv1.3"), help: "TLS 1.3 or newer.")
  var tls13 = false

  @Option(help: ArgumentHelp("The newest TLS to speak.", valueName: "1.2|1.3"))
  var tlsMax: TLSOptions.Version?

  @Flag(help: "Accept any certificate.")
  var insecure = false

  @Option(help: ArgumentHelp("The proxy to go through.", valueName: "url"))
  var proxy: String?

  @Option(help: ArgumentHelp("Logins by host.", valueName: "file"), completion: .file())
  var netrcFile: String?

  @Option(
    help: ArgumentHelp(
      "Keep cookies between runs, as curl does; without it they end with the run.", valueName: "file"),
    completion: .file())
  var cookieJar: String?

  @Flag(name: .customLong("http2"), help: "Ask for HTTP/2 over TLS.")
  var http2 = false
}

struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("d", allowingJoined: true), .long],
    help: ArgumentHelp("Where files go; made if missing.", valueName: "dir"),
    completion: .directory)
  var directory: String?

  @Option(name: .shortAndLong, help: ArgumentHelp("The name, for a single address.", valueName: "name"))
  var output: String?

  @Option(help: ArgumentHelp("What to do with a file that dlm did not write.", valueName: "policy"))
  var onConflict: ConflictPolicy?

  @Option(help: ArgumentHelp("A file that is, or becomes, longer fails: 500K, 2G.", valueName: "size"))
  var maxFilesize: ByteRate?

  @Flag(help: "Ask a name for each file, one at a time, while others go on.")
  var askNames = false

  @Flag(help: "Neither use nor fill the cache.")
  var noCache = false

  @Flag(help: "Fetch anew what the cache knows.")
  var refresh = false

  @Flag(help: "Take everything from the cache; the network is not asked.")
  var offline = false

  @Flag(help: "Have each file on the disk itself, then its name, before it counts as done.")
  var fsync = false

  @Flag(help: "Give files the server's time of their last change.")
  var remoteTime = false

  @Flag(help: "Name files by their address, whatever the server suggests.")
  var noContentDisposition = false
}

struct ProofOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The checksum that a single address's file must have: sha256:HEX, also sha512, sha384, sha1, md5.",
      valueName: "algo:hex"))
  var checksum: ContentDigest?

  @Option(
    help: ArgumentHelp(
      "Checksums for a list, by file name, as sha256sum writes them.", valueName: "file"),
    completion: .file())
  var checksums: String?

  @Option(
    help: ArgumentHelp(
      "Refuse a file that less than this proves: none, protocol, length, digest.", valueName: "proof"))
  var requireProof: Proof?
}

struct DisplayOptions: ParsableArguments {
  @Option(help: ArgumentHelp("How to show progress.", valueName: "style"))
  var progress: ProgressStyle?

  @Option(
    help: ArgumentHelp("Write what failed, with the causes, as a list to get again.", valueName: "file"),
    completion: .file())
  var failed: String?

  @Flag(name: .shortAndLong, help: "Show failures only.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Say what is done and why, on standard error.")
  var verbose = false
}
