import ArgumentParser
import CurlTransport
import DownloadCaching
import DownloadModel
import DownloadScheduling
import Foundation
import Glibc
import SystemPackage
import TerminalProgress

/// Every setting of a run with its value: option, else environment (`DLM_…`), else `./.dlm.yaml`, else
/// `$XDG_CONFIG_HOME/dlm/config.yaml`, else the default here. Config/dlm.yaml explains each.
struct Settings {
  var mode: DownloadMode
  var jobs: Int
  /// Whether `jobs` is only the most, and the run finds out what is good.
  var adaptsJobs: Bool
  var perHost: Int?
  /// Transfers of one large file at a time, at most.
  var segments: Int
  /// Network loops, each with a thread.
  var loops: Int
  var retry: RetryPolicy
  var transport: TransportOptions
  var directory: String
  var conflicts: ConflictPolicy
  /// The checksum of the single address's file.
  var checksum: ContentDigest?
  /// Those of a list.
  var checksums: ChecksumList?
  var requiredProof: Proof
  /// Bytes; nil for any length.
  var maxSize: Int64?
  var asksNames: Bool
  var syncs: Bool
  var usesCache: Bool
  var refresh: Bool
  var offline: Bool
  var usesContentDisposition: Bool
  var usesRemoteTime: Bool
  var progress: ProgressStyle

  /// The netrc file's logins: entries of the cache serve only those that made them (RFC 9111 §3.5).
  var logins: NetrcLogins?

  /// What says, beside an address's own login, which answer a request gets. Never shown; the cache keeps keyed hashes.
  var requestFields: RequestFields {
    RequestFields(
      transport.headerLines, userAgent: transport.userAgent, cookieJar: cookieJar?.identity)
  }

  /// `--cookie-jar`, with the cookies of earlier runs.
  var cookieJar: CookieJarFile?

  /// Connections to one host for `auto`, as long as it refuses none.
  static let mostPerHost = 64
  /// Transfers of one file for `auto`, as long as each brings more.
  static let mostSegments = 32

  /// Files at a time for `auto`, as long as more bring more.
  static let mostJobs = 64

  init(
    _ mode: DownloadMode?, _ connection: ConnectionOptions, _ output: OutputOptions,
    _ display: DisplayOptions, _ sources: SettingsSources, _ proof: ProofOptions? = nil
  ) throws {
    self.mode = try mode ?? sources.value("mode") ?? .parallel
    let jobs = Self.number(try connection.jobs ?? sources.value("jobs"))
    self.jobs = jobs ?? Self.mostJobs
    adaptsJobs = jobs == nil
    perHost = Self.number(try connection.perHost ?? sources.value("per-host"))
    segments = Self.number(try connection.segments ?? sources.value("segments")) ?? Self.mostSegments
    // More than the cores would only take turns; eight feed any link that one machine has.
    let cores = max(1, min(8, ProcessInfo.processInfo.activeProcessorCount))
    loops = Self.number(try sources.value("loops")) ?? cores
    let count: Count? = try connection.retries ?? sources.value("retries")
    let maxTime: Seconds? = try connection.retryMaxTime ?? sources.value("retry-max-time")
    retry = RetryPolicy(retries: count?.number ?? 5, maxTime: maxTime?.duration)
    transport = try Self.transport(connection, sources)
    transport.width = self.jobs
    logins = try transport.netrcFile.map { try NetrcFile.read($0) }
    if let logins { transport.hasLogin = { logins.hasLogin(for: $0) } }
    cookieJar = try (connection.cookieJar ?? sources.text("cookie-jar")).map { try CookieJarFile($0) }
    let rate: ByteRate? = try connection.limitRate ?? sources.value("limit-rate")
    transport.rateLimit = rate.map { RateLimit(bytesPerSecond: $0.bytesPerSecond) }
    directory = output.directory ?? sources.text("directory") ?? "."
    conflicts = try output.onConflict ?? sources.value("on-conflict") ?? .rename
    checksum = proof?.checksum
    requiredProof = try proof?.requireProof ?? sources.value("require-proof") ?? .nothing
    let most: ByteRate? = try output.maxFilesize ?? sources.value("max-filesize")
    maxSize = most?.bytesPerSecond
    asksNames = output.askNames
    syncs = try output.fsync || sources.isOn("fsync")
    usesCache = try !(output.noCache || sources.isOn("no-cache"))
    refresh = try output.refresh || sources.isOn("refresh")
    offline = try output.offline || sources.isOn("offline")
    usesContentDisposition = try !(output.noContentDisposition || sources.isOn("no-content-disposition"))
    usesRemoteTime = try output.remoteTime || sources.isOn("remote-time")
    progress = display.quiet ? .none : try display.progress ?? sources.value("progress") ?? .auto
    if offline && !usesCache {
      throw ValidationError(
        "--offline takes files from the cache, and --no-cache forbids it: use one of the two.")
    }
    if offline && refresh {
      throw ValidationError("--offline asks no server, and --refresh asks anew: use one of the two.")
    }
  }

  private static func number(_ value: Parallelism?) -> Int? {
    if case .exactly(let number) = value { number } else { nil }
  }

  /// A line end in it would be a header line of somebody else's (RFC 9110 §5.5).
  private static func userAgent(_ text: String) throws -> String {
    guard !text.unicodeScalars.contains(where: HeaderLine.isForbidden) else {
      throw ValidationError(
        "--user-agent \"\(text)\" (or DLM_USER_AGENT, or user-agent in a settings file) holds a line end or a control character."
      )
    }
    return text
  }

  private static func transport(
    _ connection: ConnectionOptions, _ sources: SettingsSources
  ) throws -> TransportOptions {
    var transport = TransportOptions(
      userAgent: try userAgent(connection.userAgent ?? sources.text("user-agent") ?? "dlm/\(DLM.version)"))
    transport.headerLines = try HeaderArgument.lines(of: connection.header)
    for line in transport.headerLines {
      if let words = HeaderLine.refusal(of: line) { throw ValidationError(words) }
    }
    let connect: Seconds? = try connection.connectTimeout ?? sources.value("connect-timeout")
    let stall: Seconds? = try connection.stallTimeout ?? sources.value("stall-timeout")
    transport.connectTimeout = connect?.duration ?? .seconds(10)
    transport.stallTimeout = stall?.duration ?? .seconds(30)
    transport.caFile =
      connection.cacert ?? sources.text("cacert") ?? sources.environment["CURL_CA_BUNDLE"]
      ?? sources.environment["SSL_CERT_FILE"]
    transport.isInsecure = try connection.insecure || sources.isOn("insecure")
    transport.proxies = try ProxySetting.routes(option: connection.proxy, sources)
    transport.netrcFile = connection.netrcFile ?? sources.text("netrc-file")
    for (option, path) in [("--cacert", transport.caFile), ("--netrc-file", transport.netrcFile)] {
      guard let path, access(path, R_OK) != 0 else { continue }
      throw ValidationError("\(option) \(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    transport.tls = try tls(connection, sources)
    transport.usesHTTP2 = try connection.http2 || sources.isOn("http2")
    return transport
  }
}

extension Settings {
  private static func tls(_ connection: ConnectionOptions, _ sources: SettingsSources) throws -> TLSOptions {
    var tls = TLSOptions()
    tls.newest = try connection.tlsMax ?? sources.value("tls-max")
    if connection.tls12 || connection.tls13 {
      tls.oldest = connection.tls13 ? .tls13 : .tls12
    } else if try sources.isOn("tlsv1.3") {
      tls.oldest = .tls13
    } else if try sources.isOn("tlsv1.2") {
      tls.oldest = .tls12
    }
    if let oldest = tls.oldest, let newest = tls.newest, newest < oldest {
      throw ValidationError(
        "--tls-max \(newest.text) allows nothing that --tlsv\(oldest.text) asks for: leave one of them out.")
    }
    tls.pinnedKeys = connection.pinnedpubkey ?? sources.text("pinnedpubkey")
    tls.revocationList = connection.crlfile ?? sources.text("crlfile")
    var files = [("--crlfile", tls.revocationList)]
    if let keys = tls.pinnedKeys, !keys.hasPrefix("sha256//") { files.append(("--pinnedpubkey", keys)) }
    for (option, path) in files {
      guard let path, access(path, R_OK) != 0 else { continue }
      throw ValidationError("\(option) \(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    guard let certificate = connection.cert ?? sources.text("cert") else {
      if let key = connection.key { throw ValidationError("--key \(key) goes with a --cert: name that too.") }
      return tls
    }
    let certificateFiles = ClientCertificateFiles(
      certificate: certificate, type: try connection.certType ?? sources.value("cert-type"),
      key: connection.key ?? sources.text("key"),
      passphraseFile: connection.certPassphraseFile ?? sources.text("cert-passphrase-file"),
      passphrase: sources.environment["DLM_CERT_PASSPHRASE"])
    tls.identity = try certificateFiles.identity(ask: PassphrasePrompt.ask)
    return tls
  }
}

/// The environment and the settings files, strongest first.
struct SettingsSources {
  let environment: [String: String]
  private let files: [SettingsFile]

  /// - Throws: `ValidationError` naming a settings file that cannot be understood.
  static func load(environment: [String: String]) async throws -> SettingsSources {
    let config = XDGFolders(environment).config?.appending("config.yaml")
    return SettingsSources(
      environment: environment,
      files: try [
        SettingsFile(at: ".dlm.yaml", .workingFolder, say: StandardError.say),
        config.flatMap { try SettingsFile(at: $0, .ownFolder, say: StandardError.say) },
      ].compactMap(\.self))
  }

  /// The variable of the environment that sets a key.
  static func variable(_ key: String) -> String {
    "DLM_" + String(key.uppercased().map { $0 == "-" || $0 == "." ? "_" : $0 })
  }

  func text(_ key: String) -> String? {
    if let text = environment[Self.variable(key)] { return text }
    for file in files { if let text = file.text(key) { return text } }
    return nil
  }

  func value<Value: ExpressibleByArgument>(_ key: String, as: Value.Type = Value.self) throws -> Value? {
    guard let text = text(key) else { return nil }
    guard let value = Value(argument: text) else {
      let known = Value.allValueStrings
      let hint = known.isEmpty ? "" : " Possible: \(known.joined(separator: ", "))."
      throw ValidationError(
        "\"\(text)\" is no value for \(key) (from \(Self.variable(key)) or a settings file).\(hint)")
    }
    return value
  }

  func isOn(_ key: String) throws -> Bool { try value(key, as: YesOrNo.self)?.isOn ?? false }
}
