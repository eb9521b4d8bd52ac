import DownloadModel
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import CurlTransport
@testable import DownloadCaching
@testable import FileReceiving

/// HTTP rules 18, 29, 30 and 32: which file it is, the address says, and nothing else; for whom it may be
/// used, and how it is asked about, what the request had beside that.
@Suite("A file is its address's, and an answer is whose it was")
struct WhoseAnswerTests {
  private static let one = SplitMix64.bytes(count: 200_000, seed: 31)
  private static let two = SplitMix64.bytes(count: 200_000, seed: 32)
  private static let old = "Sun, 06 Nov 1994 08:49:37 GMT"

  /// What a second run has otherwise than the first.
  enum Kind: String, CaseIterable, Sendable {
    case same, token, login, netrc, cookie, jar, header, certificate, noCertificate, insecure,
      insecureThenPinned, pin, authorities, signature

    /// What the first run's answer is worth to the second.
    var isOwn: Bool { self == .same || self == .signature }
    var isNever: Bool { self == .insecure || self == .insecureThenPinned }
  }

  enum Situation: String, CaseIterable, Sendable {
    case fresh, strongTag, weakTag, date, resumed, copied, offline
  }

  /// An origin behind a server with a certificate.
  private struct Place {
    let origin: FaultyOrigin
    let server: NginxServer
    let workplace: Workplace
    let pin: String

    init() async throws {
      origin = try FaultyOrigin()
      server = try await NginxServer(
        serverLines: [
          "location / { proxy_pass \(origin.url("")); proxy_http_version 1.1; proxy_buffering off;",
          "proxy_set_header Connection \"\"; }",
        ], offersHTTP2: false)
      workplace = try Workplace()
      let authority = try await TestAuthority()
      for name in ["alice", "bob"] {
        try await authority.issue(name)
        try workplace.folder.write(try authority.folder.read("\(name).both.pem"), to: "work/\(name).pem")
        try workplace.folder.write(
          Array("machine localhost login me password \(name)\n".utf8), to: "work/\(name).netrc")
      }
      let script =
        "openssl x509 -in '\(server.caCertificatePath)' -pubkey -noout | openssl pkey -pubin -outform der"
        + " | openssl dgst -sha256 -binary | openssl base64"
      let sum = try await CommandRun.result(of: "sh", ["-ec", script]).outputText
      pin = "sha256//" + sum.filter { !$0.isNewline }
    }

    func stop() {
      server.stop()
      origin.stop()
    }

    /// The words of a run.
    func arguments(_ kind: Kind, second: Bool, _ path: String) throws -> [String] {
      var address = server.tlsURL(path)
      let trusted = ["--cacert", server.caCertificatePath]
      let who = second ? "bob" : "alice"
      var words: [String]
      switch kind {
      case .same: words = trusted
      case .token: words = trusted + ["-H", "Authorization: Bearer \(who)"]
      case .login:
        address = address.replacing("https://", with: "https://me:\(who)@")
        words = trusted
      case .netrc: words = trusted + ["--netrc-file", "\(who).netrc"]
      case .cookie: words = trusted + ["-H", "Cookie: who=\(who)"]
      case .jar:
        // The same path: what stands there says who it is.
        try workplace.folder.write(
          Array("# Netscape HTTP Cookie File\nlocalhost\tFALSE\t/\tTRUE\t0\twho\t\(who)\n".utf8),
          to: "work/jar")
        words = trusted + ["--cookie-jar", "jar"]
      case .authorities:
        let authorities = [UInt8](try Data(contentsOf: URL(filePath: server.caCertificatePath)))
        let more = second ? try workplace.file("alice.pem") : []
        try workplace.folder.write(authorities + more, to: "work/authorities.pem")
        words = ["--cacert", "authorities.pem"]
      case .header: words = trusted + ["-H", "X-Key: \(who)"]
      case .certificate: words = trusted + ["--cert", "\(who).pem"]
      case .noCertificate: words = trusted + (second ? [] : ["--cert", "\(who).pem"])
      case .insecure: words = second ? trusted : ["--insecure"]
      case .insecureThenPinned: words = ["--insecure"] + (second ? ["--pinnedpubkey", pin] : [])
      case .pin: words = trusted + (second ? ["--pinnedpubkey", pin] : [])
      case .signature:
        address += "?X-Amz-Expires=60&X-Amz-Date=\(who)&X-Amz-Signature=\(who)"
        words = trusted
      }
      return ["get", address, "--progress", "plain", "--no-compare", "-s", "1"] + words
    }

    func run(_ words: [String]) async throws -> CommandResult {
      try await workplace.start(words).waitForExit()
    }
  }

  private static func options(_ situation: Situation) -> FileOptions {
    switch situation {
    case .fresh, .copied, .offline: FileOptions(headers: ["Cache-Control: max-age=1000"])
    case .strongTag: FileOptions()
    case .weakTag: FileOptions(etag: "W/\"v1\"", lastModified: old)
    case .date: FileOptions(etag: nil, lastModified: old)
    case .resumed: FileOptions(ending: .close(after: 150_000))
    }
  }

  /// Name, bytes and requests of both runs. The second answer has other bytes under the first one's
  /// validators: so it shows which of them came.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: Kind.allCases) func table(kind: Kind) async throws {
    let place = try await Place()
    defer { place.stop() }
    for situation in Situation.allCases {
      let path = "/\(situation)/f"
      var later = Self.options(situation)
      if situation == .resumed { later.ending = .whole }
      place.origin.route(path, .file(Self.one, Self.options(situation)), .file(Self.two, later))
      let folder = "\(situation)"
      let isCut = situation == .resumed
      let first = try await place.run(
        try place.arguments(kind, second: false, path) + ["-d", folder] + (isCut ? ["--retries", "0"] : []))
      #expect((first.status == 0) != isCut, "\(situation): \(first.errorText)")
      let before = place.origin.log.count
      let there = situation == .copied ? "copies" : folder
      let second = try await place.run(
        try place.arguments(kind, second: true, path) + ["-d", there]
          + (situation == .offline ? ["--offline"] : []))
      let asked = place.origin.log.dropFirst(before)
      let lines = asked.first?.headers ?? [:]
      let condition = lines["if-none-match"] ?? lines["if-modified-since"] ?? lines["if-range"]
      #expect(try place.workplace.names(in: folder) == ["f"], "\(situation): \(second.errorText)")
      #expect(
        (second.status == 0) == (situation != .offline || kind.isOwn), "\(situation): \(second.errorText)")
      let bytes = try place.workplace.file("\(there)/f")
      var (requests, isConditional, expected) = (1, true, Self.one)
      switch situation {
      case .fresh, .copied: if kind.isOwn { (requests, isConditional) = (0, false) }
      case .offline: (requests, isConditional) = (0, false)
      case .strongTag: break
      case .weakTag, .date: if !kind.isOwn { (isConditional, expected) = (false, Self.two) }
      case .resumed: expected = Array(Self.one[..<150_000] + Self.two[150_000...])
      }
      if kind.isNever, situation != .offline { (isConditional, expected) = (false, Self.two) }
      #expect(asked.count == requests, "\(situation): \(asked.map(\.headers)) \(second.errorText)")
      #expect((condition != nil) == isConditional, "\(situation): \(lines)")
      #expect(bytes == expected, "\(situation): \(second.errorText)")
    }
  }

  /// What one run brought in the place of another's is then its own.
  @Test func theLastOneKnowsItAsItsOwn() async throws {
    let place = try await Place()
    defer { place.stop() }
    place.origin.route("/f", .file(Self.one, FileOptions(headers: ["Cache-Control: max-age=1000"])))
    for (second, requests) in [(false, 1), (true, 2), (true, 2), (false, 3), (false, 3)] {
      let run = try await place.run(try place.arguments(.token, second: second, "/f"))
      #expect(run.status == 0 && place.origin.log.count == requests, "\(run.errorText)")
    }
    // Who checks nobody renews nothing that was checked.
    for (second, requests) in [(true, 3), (false, 4), (true, 4)] {
      let run = try await place.run(
        try place.arguments(.insecure, second: second, "/f") + ["-H", "Authorization: Bearer alice"])
      #expect(run.status == 0 && place.origin.log.count == requests, "\(second) \(run.errorText)")
    }
    #expect(place.origin.log.last?.headers["if-none-match"] != nil)
    #expect(try place.workplace.names().filter { $0.hasPrefix("f") } == ["f"])
  }

  /// An address over plain HTTP may lead to one that a certificate stands for.
  @Test func aRedirectFromPlainHTTP() async throws {
    let place = try await Place()
    defer { place.stop() }
    let plain = try FaultyOrigin()
    defer { plain.stop() }
    plain.route("/f", .redirect(302, to: place.server.tlsURL("/f")))
    place.origin.route("/f", .file(Self.one), .file(Self.two))
    _ = try await place.run(["get", plain.url("/f"), "--insecure"])
    let checked = try await place.run(["get", plain.url("/f"), "--cacert", place.server.caCertificatePath])
    #expect(checked.status == 0, "\(checked.errorText)")
    #expect(place.origin.log.last?.headers["if-none-match"] == nil)
    #expect(try place.workplace.file("f") == Self.two)
    // Without any redirect nobody is checked, with the option and without.
    plain.route("/g", .file(Self.one, FileOptions(etag: "W/\"v1\"")))
    _ = try await place.run(["get", plain.url("/g"), "--insecure"])
    let again = try await place.run(["get", plain.url("/g")])
    #expect(again.errorText.contains("up to date: 1 file"), "\(again.errorText)")
  }

  /// Under the name of one line stood once what the other's login had brought, or two files.
  @Test(arguments: [1, 2], ["parallel", "sequential", "async-let"])
  func linesWithOtherLoginsInOneList(loops: Int, mode: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace(["DLM_LOOPS": "\(loops)"])
    var lines: [String] = []
    for number in 0..<20 {
      origin.route("/\(number)/f\(number)", .file(Self.one, FileOptions(etag: "W/\"v1\"")))
      for login in ["a:b@", "c:d@", "a:b@"] {
        lines.append(origin.url("/\(number)/f\(number)").replacing("http://", with: "http://\(login)"))
      }
    }
    _ = try place.list(lines)
    let run = try await place.dlm("get", "urls.txt", "-d", "out", "-m", mode, "-j", "8")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 20)
    for name in try place.names(in: "out") { #expect(try place.file("out/\(name)") == Self.one) }
  }

  @Test(arguments: [1, 2]) func linesThatAreOnlySignedOtherwise(loops: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace(["DLM_LOOPS": "\(loops)"])
    origin.route("/f", .file(Self.one))
    _ = try place.list((0..<20).map { origin.url("/f?X-Amz-Date=\($0)&X-Amz-Signature=\($0)") })
    let run = try await place.dlm("get", "urls.txt", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out") == ["f"])
    #expect(origin.log.count == 1)
    let shown = try await place.dlm("cache", "show", origin.url("/f?X-Amz-Signature=x"))
    #expect(shown.status == 0 && shown.outputText.contains("/out/f"), "\(shown.outputText)\(shown.errorText)")
  }

  /// Processes wait for each other's file also where their logins differ.
  @Test func twoProcessesWithTwoTokens() async throws {
    let (origin, gate) = (try FaultyOrigin(), try Gate())
    defer { origin.stop() }
    origin.route("/f", .late(Self.one, until: gate), .file(Self.two, FileOptions(etag: nil)))
    let place = try Workplace()
    let first = try place.start(["get", origin.url("/f"), "-H", "X-Key: a"])
    try await origin.wait(forRequests: 1)
    let second = try place.start(["get", origin.url("/f"), "-H", "X-Key: b"])
    gate.open()
    #expect(try await first.waitForExit().status == 0)
    #expect(try await second.waitForExit().status == 0)
    #expect(try place.names() == ["f"])
  }

  // MARK: What a 304 and other statuses say

  @Test func aVariantReplacesTheOther() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let place = try Workplace()
    func variant(_ etag: String) -> FileOptions {
      FileOptions(etag: etag, headers: ["Vary: Accept-Language"])
    }
    origin.route("/f", .file(Self.one, variant("\"de\"")), .file(Self.two, variant("\"en\"")))
    for (language, bytes) in [("de", Self.one), ("en", Self.two)] {
      let run = try await place.dlm("get", origin.url("/f"), "-H", "Accept-Language: \(language)")
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.file("f") == bytes)
    }
    #expect(try place.names() == ["f"])
  }

  /// It went on to be asked about with the tag: from the same folder, from others, and from the store.
  @Test(
    arguments: [["a", "a", "a"], ["a", "b", "a"], ["a", "b", "c", "a", "b"]], [[], ["--store", "copy"]])
  func a304ThatForbidsStoring(folders: [String], store: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    var answers: [OriginAnswer] = [.file(Self.one)]
    if folders.count == 5 { answers.append(.status(304, headers: ["ETag: \"v1\""])) }
    answers.append(.status(304, headers: ["ETag: \"v1\"", "Cache-Control: no-store"]))
    origin.route("/f", script: answers + [.file(Self.one)])
    let place = try Workplace()
    for folder in folders {
      let run = try await place.start(["get", origin.url("/f"), "-d", folder] + store).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names(in: folder) == ["f"])
    }
    let asked = origin.log.map { $0.headers["if-none-match"] != nil }
    #expect(asked == folders.indices.map { $0 > 0 && $0 < answers.count })
  }

  @Test(arguments: [201, 202, 203, 250, 299]) func anySuccessWithABody(status: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .status(status, body: Self.one))
    let place = try Workplace()
    for _ in 0..<2 {
      let run = try await place.dlm("get", origin.url("/f"))
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try place.names() == ["f"])
      #expect(try place.file("f") == Self.one)
    }
  }

  /// The first run said so, and those after it "unchanged" or "fresh".
  @Test(arguments: [[], ["ETag: \"v1\""], ["ETag: \"v1\"", "Cache-Control: max-age=1000"]])
  func noContentIsSaidEachTime(headers: [String]) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f",
      .either(
        { $1["if-none-match"] != nil }, .status(304, headers: headers), else: .status(204, headers: headers)))
    let place = try Workplace()
    for more in [[], [], [], ["-d", "copies"], ["--no-cache"]] {
      let run = try await place.start(["get", origin.url("/f"), "--progress", "plain"] + more).waitForExit()
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.errorText.contains("1 empty (204 No Content)"), "\(run.errorText)")
      #expect(try place.file("f").isEmpty)
    }
  }

  // MARK: Answers from this disk keep the rules of fetched ones

  @Test func offlineNeedsTheProofThatIsAskedFor() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.one))
    let place = try Workplace()
    let sum = "sha256:\(try await ProofTests.sum(Self.one))"
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let proof = ["get", origin.url("/f"), "--offline", "--require-proof", "digest"]
    let unproved = try await place.start(proof).waitForExit()
    #expect(unproved.status == 1, "\(unproved.errorText)")
    #expect(unproved.errorText.contains("--require-proof"), "\(unproved.errorText)")
    #expect(try await place.start(proof + ["--checksum", sum]).waitForExit().status == 0)
    // Now a checksum has proved it.
    let proved = try await place.start(proof).waitForExit()
    #expect(proved.status == 0, "\(proved.errorText)")
    #expect(origin.log.count == 1)
  }

  /// The story: what was proved by less was refused when it came, and was good enough from then on.
  @Test(arguments: [true, false]) func whatIsProvedByLessAnswersNothing(isFresh: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let headers = isFresh ? ["Cache-Control: max-age=1000"] : []
    // Without ranges, by which it would tell its length.
    let options = FileOptions(
      acceptRanges: nil, ranges: .ignored, framing: .chunked(size: 1000), headers: headers)
    origin.route("/f", .file(Self.one, options))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    for more in [["--offline"], [], ["-d", "copies"], ["-d", "copies", "--offline"]] {
      let run = try await place.start(["get", origin.url("/f"), "--require-proof", "length"] + more)
        .waitForExit()
      #expect(run.status == 1 && run.errorText.contains("gave no length"), "\(more): \(run.errorText)")
      let enough =
        ["get", origin.url("/f"), "--require-proof", "protocol"] + (more.isEmpty ? ["--offline"] : [])
      #expect(try await place.start(enough).waitForExit().status == 0)
    }
    #expect(try place.names().contains("f") && !place.names().contains("f.1"))
  }

  /// A copy of what a checksum proved is as proved as that.
  @Test func aCopyKeepsItsProof() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file(Self.one))
    let place = try Workplace()
    let sum = "sha256:\(try await ProofTests.sum(Self.one))"
    #expect(try await place.dlm("get", origin.url("/f"), "--checksum", sum).status == 0)
    let copy = try await place.dlm(
      "get", origin.url("/f"), "-d", "copies", "--offline", "--require-proof", "digest")
    #expect(copy.status == 0, "\(copy.errorText)")
    #expect(try place.file("copies/f") == Self.one)
  }

  @Test(arguments: [[], ["--offline"], ["--refresh"]], [[], ["-d", "copies"]])
  func noLongFileIsUsed(offline: [String], folder: [String]) async throws {
    for control in ["max-age=1000", "no-cache"] { try await noLongFileIsUsed(offline + folder, control) }
  }

  private func noLongFileIsUsed(_ options: [String], _ control: String) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route(
      "/f", .file(Array(Self.one.prefix(5000)), FileOptions(headers: ["Cache-Control: \(control)"])))
    let place = try Workplace()
    #expect(try await place.dlm("get", origin.url("/f")).status == 0)
    let run = try await place.start(
      ["get", origin.url("/f"), "--max-filesize", "1K"] + options
    ).waitForExit()
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.errorText.contains("--max-filesize"), "\(run.errorText)")
    #expect(try place.names().filter { $0 != "copies" } == ["f"])
    #expect(try place.file("f").count == 5000)
    let fits = try await place.start(
      ["get", origin.url("/f"), "--max-filesize", "5K"] + options
    ).waitForExit()
    #expect(fits.status == 0, "\(fits.errorText)")
  }

  // MARK: Settings

  /// A setting for connections that nobody has looked at fails here.
  @Test func everyConnectionSettingCountsOrNot() throws {
    func labels(_ value: Any) -> Set<String> { Set(Mirror(reflecting: value).children.compactMap(\.label)) }
    // On these no answer depends, but on the part of `network` that is the trust's `route`.
    #expect(
      labels(TransportOptions(userAgent: "")) == [
        "trust", "connectTimeout", "stallTimeout", "proxies", "cookieJar", "usesHTTP2",
        "width", "limits", "group", "onTransfer", "leastRate",
        "rateWindow", "retryOn", "collapseTime", "lookUp", "network", "mostRedirects", "ssh", "storage",
      ])
    let address = try Address("https://host/x")
    func mark(_ change: (inout Trust) -> Void) -> RequestTrust {
      var configuration = CacheConfiguration(directory: "/", cacheFolder: nil)
      change(&configuration.trust)
      return RequestFingerprint(configuration, Self.secret, runNumber: 0).trust(
        of: DownloadRequest(id: 0, address: address))
    }
    let identity = TLSOptions.Identity(certificate: "/c", digest: "1", isPKCS12: false)
    var other = identity
    other.digest = "2"
    let changes: [String: (inout Trust) -> Void] = [
      "headerLines": { $0.headerLines = ["X-Key: a"] },
      "logins": { $0.logins = NetrcLogins(Array("machine host login a password b".utf8)) },
      "cookies": { $0.cookies = ["host\tTRUE\t/\tFALSE\t0\twho\tme"] }, "caFile": { $0.caFile = "/ca" },
      "isInsecure": { $0.isInsecure = true }, "tls.identity": { $0.tls.identity = identity },
      "tls.identity.digest": { $0.tls.identity = other },
      "tls.pinnedKeys": { $0.tls.pinnedKeys = "sha256//a" },
      "tls.isRequired": { $0.tls.isRequired = true }, "tls.revocationList": { $0.tls.revocationList = "/crl" },
      "caFolder": { $0.caFolder = "/cas" }, "route": { $0.route = ["host:443:192.0.2.1"] },
      "fileDigest": {
        $0.caFile = "/ca"
        $0.fileDigest = { _ in "1" }
      },
    ]
    // `logins` has the login, too. A name is harmless, and what `Vary` may name of it is looked at; the file's text stands for its path;
    // versions say nothing of who answered; the pass phrase opens the same certificate;
    // a key for SSH and the place of S3 count for their URLs.
    let harmless: Set = ["userAgent", "netrcFile", "login", "identity", "storage", "tls.oldest", "tls.newest"]
    let all = labels(Trust()).subtracting(["tls"]).union(labels(TLSOptions()).map { "tls.\($0)" })
    #expect(all == harmless.union(changes.keys.filter { $0 != "tls.identity.digest" }))
    #expect(labels(identity) == ["certificate", "digest", "isPKCS12", "key", "passphrase"])
    let marks = changes.values.map { mark($0) }
    #expect(Set(marks.map(\.own)).count == changes.count)
    #expect(marks.allSatisfy { $0.own != .usual } && mark { _ in } == .usual)
  }

  private static let secret = UserSecret.forThisProcess()
}
