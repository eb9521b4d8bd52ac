import ArgumentParser
import DownloadCaching
import DownloadModel
import TerminalProgress

/// The command that goes on with what is missing, rebuilt from what was understood and never from what was typed: a secret
/// has many spellings on a command line (`-vHAuthorization:…`), and one in what was parsed.
///
/// What is secret is not shown: logins, signatures, the values of header lines. An ellipsis stands for it, and a sentence
/// says to give it again. Where every option is in the environment or a settings file, it holds there again by itself.
struct AgainWords {
  /// As a shell takes it, and what is to be given again.
  let line: String

  /// - Parameter isListKept: whether `dlm get` by itself would take this run's list again.
  init(_ command: GetCommand, isListKept: Bool = true) {
    var words = Words()
    // A list that came through a pipe is gone; `dlm get` knows it by now, if it was read to its end.
    if command.sources != ["-"] || !isListKept {
      for source in command.sources { words.add(address: source) }
    }
    words.add("--mode", command.mode?.rawValue)
    words.add("--list", if: command.list)
    words.add(command.output)
    words.add(command.proof)
    words.add(command.connection)
    words.add(command.display)
    words.add("--no-compare", if: command.noCompare)
    words.add("--dry-run", if: command.dryRun)
    let line = (["dlm", "get"] + words.words.map(CommandLineWords.quoted)).joined(separator: " ")
    self.line =
      words.hidesSecrets ? line + "   (secrets are not shown: give again what … stands for)" : line
  }

  private struct Words {
    var words: [String] = []
    var hidesSecrets = false

    mutating func add(_ name: String, _ value: String?) {
      if let value { words += [name, value] }
    }

    mutating func add(_ name: String, if isOn: Bool) {
      if isOn { words.append(name) }
    }

    /// A source: an address, or a list's path.
    mutating func add(address source: String) {
      guard case .address(let text) = Source(source) else { return words.append(source) }
      words.append(shown(text))
    }

    /// An address without its secrets; a login leaves its place behind.
    mutating func shown(_ text: String) -> String {
      let redacted = Redaction.redactedAddress(text)
      if redacted.contains(Redaction.mark) { hidesSecrets = true }
      guard (try? Address(text))?.hasCredentials ?? text.contains("@") else { return redacted }
      hidesSecrets = true
      guard let scheme = redacted.firstRange(of: "://") else { return "\(Redaction.mark)@\(redacted)" }
      return redacted[..<scheme.upperBound] + "\(Redaction.mark)@" + redacted[scheme.upperBound...]
    }

    mutating func add(_ output: OutputOptions) {
      add("--directory", output.directory)
      add("--output", output.output)
      add("--on-conflict", output.onConflict?.rawValue)
      add("--max-filesize", output.maxFilesize?.description)
      add("--ask-names", if: output.askNames)
      add("--no-cache", if: output.noCache)
      add("--refresh", if: output.refresh)
      add("--offline", if: output.offline)
      add("--fsync", if: output.fsync)
      add("--remote-time", if: output.remoteTime)
      add("--no-content-disposition", if: output.noContentDisposition)
    }

    mutating func add(_ proof: ProofOptions) {
      add("--checksum", proof.checksum.map { "\($0.algorithm.rawValue):\($0.hex)" })
      add("--checksums", proof.checksums)
      add("--require-proof", proof.requireProof?.rawValue)
    }

    mutating func add(_ connection: ConnectionOptions) {
      add("--jobs", connection.jobs?.description)
      add("--per-host", connection.perHost?.description)
      add("--segments", connection.segments?.description)
      add("--limit-rate", connection.limitRate?.description)
      add("--retries", connection.retries?.description)
      add("--retry-max-time", connection.retryMaxTime?.description)
      add("--connect-timeout", connection.connectTimeout?.description)
      add("--stall-timeout", connection.stallTimeout?.description)
      for header in connection.header { add("-H", shown(header)) }
      add("--user-agent", connection.userAgent)
      add("--cacert", connection.cacert)
      add("--crlfile", connection.crlfile)
      add("--cert", connection.cert)
      add("--cert-type", connection.certType?.rawValue)
      add("--key", connection.key)
      add("--cert-passphrase-file", connection.certPassphraseFile)
      add("--pinnedpubkey", connection.pinnedpubkey)
      add("--tlsv1.2", if: connection.tls12)
      add("--tlsv1.3", if: connection.tls13)
      add("--tls-max", connection.tlsMax?.text)
      add("--insecure", if: connection.insecure)
      if let proxy = connection.proxy { add("--proxy", shown(proxy)) }
      add("--netrc-file", connection.netrcFile)
      add("--cookie-jar", connection.cookieJar)
      add("--http2", if: connection.http2)
    }

    mutating func add(_ display: DisplayOptions) {
      add("--progress", display.progress?.rawValue)
      add("--failed", display.failed)
      add("--quiet", if: display.quiet)
      add("--verbose", if: display.verbose)
    }

    /// Header lines whose values choose and do not unlock.
    private static let harmless: Set<String> = [
      "accept", "accept-language", "accept-encoding", "cache-control", "pragma", "user-agent", "dnt",
    ]

    private mutating func shown(_ header: HeaderArgument) -> String {
      let text = header.text
      if text.first == "@" { return text }
      let end = text.firstIndex { $0 == ":" || $0 == ";" } ?? text.endIndex
      if Self.harmless.contains(text[..<end].lowercased()) { return text }
      hidesSecrets = true
      return "\(text[..<end]): \(Redaction.mark)"
    }
  }
}
