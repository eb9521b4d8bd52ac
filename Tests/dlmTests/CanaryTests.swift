import Foundation
import Glibc
import TestSupport
import Testing

/// Secrets have many spellings, and there are many ways to end: each of one through each of the other.
@Suite("A secret is found nowhere but where its user put it")
struct CanaryTests {
  /// Unlike anything else that may stand in an output or a file.
  private static let canary = "kAnaRy7f3a91"
  /// Of parameters that sign an address: what must be fetched again has to keep them, in files of this user
  /// alone.
  private static let signature = "sIgNed5c20be"

  /// How a secret is given; `LOGIN` in an argument stands for the address with it, `PLAIN` for the one
  /// without.
  struct Spelling: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var variables: [String: String] = [:]
    var testDescription: String { "\(arguments) \(variables.keys)" }

    init(_ arguments: String..., variables: [String: String] = [:]) {
      self.arguments = arguments
      self.variables = variables
    }
  }

  private static let spellings = [
    Spelling("PLAIN", "-H", "Authorization: Bearer \(canary)"),
    Spelling("PLAIN", "-HAuthorization: \(canary)"),
    Spelling("PLAIN", "-vH", "Authorization: \(canary)"), Spelling("PLAIN", "-vHCookie: a=\(canary)"),
    Spelling("PLAIN", "--header", "Cookie: a=\(canary)"), Spelling("PLAIN", "--header=Cookie: a=\(canary)"),
    Spelling("PLAIN", "--heade", "Cookie: a=\(canary)"), Spelling("PLAIN", "-H", canary),
    Spelling("PLAIN", "-H", "Authorization: \(canary)\nX: y"), Spelling("PLAIN", "-H", "@secrets"),
    Spelling("PLAIN", "-v", "-H@secrets"), Spelling("PLAIN", "-H", "@bad-secrets"),
    Spelling("LOGIN"), Spelling("LOGIN", "-v"), Spelling("user:\(canary)@127.0.0.1/x"),
    Spelling("https:/user:\(canary)@h/x"), Spelling("ftp://user:\(canary)@h/x"),
    Spelling("http://u:\(canary)@h:0/"),
    Spelling("with-logins.txt"), Spelling("PLAIN", "--netrc-file", "netrc"),
    Spelling("PLAIN", "--proxy", "http://u:\(canary)@127.0.0.1:1"),
    Spelling("PLAIN", "--proxy=u:\(canary)@127.0.0.1:1"),
    Spelling("PLAIN", "--proxy", "socks9://u:\(canary)@h"),
    Spelling("PLAIN", variables: ["DLM_PROXY": "http://u:\(canary)@127.0.0.1:1"]),
    Spelling("SIGNED"), Spelling("SIGNED", "-v"),
    Spelling("PLAIN", "-v", "--cookie-jar", "jar"), Spelling("PLAIN", "--cert", "secrets:\(canary)"),
    Spelling("PLAIN", "--cert=missing.pem:\(canary)"),
    Spelling("PLAIN", "--cert", "secrets", variables: ["DLM_CERT_PASSPHRASE": canary]),
  ]

  /// What the origin does, and how the run is asked for.
  struct Outcome: Sendable, CustomTestStringConvertible {
    var name: String
    var answer: OriginAnswer?
    var more: [String] = []
    var command = ["get"]
    var testDescription: String { name }
  }

  private static let file = OriginAnswer.file(Array("content".utf8))
  private static let outcomes = [
    Outcome(name: "success", answer: file), Outcome(name: "404", answer: .status(404)),
    Outcome(name: "401", answer: .status(401, headers: ["WWW-Authenticate: Basic realm=\"r\""])),
    Outcome(name: "a cookie", answer: .file([1], FileOptions(headers: ["Set-Cookie: a=\(canary)"]))),
    Outcome(name: "404 and a cookie", answer: .status(404, headers: ["Set-Cookie: a=\(canary)"])),
    Outcome(name: "503", answer: .status(503)), Outcome(name: "refused", answer: nil),
    Outcome(name: "garbage", answer: .raw(Array("nonsense\r\n\r\n".utf8))),
    Outcome(name: "dry run", answer: file, more: ["--dry-run"]),
    Outcome(name: "json", answer: file, more: ["--progress", "json"]),
    Outcome(name: "json 404", answer: .status(404), more: ["--progress", "json"]),
    Outcome(name: "quiet", answer: .status(404), more: ["-q"]),
    Outcome(name: "offline", answer: file, more: ["--offline"]),
    Outcome(name: "usage error", answer: file, more: ["--jobs", "none"]),
    Outcome(name: "unknown option", answer: file, more: ["--unknown"]),
    Outcome(name: "compare", answer: file, command: ["compare", "--runs", "1"]),
    Outcome(name: "compare 404", answer: .status(404), command: ["compare", "--runs", "1"]),
    Outcome(name: "no command takes it", answer: file, command: ["cache", "list"]),
  ]

  private func place(_ spelling: Spelling, _ url: String) throws -> (Workplace, [String]) {
    let place = try Workplace(spelling.variables)
    let address = url.dropFirst("http://".count)
    let login = "http://user:\(Self.canary)@\(address)"
    _ = try place.folder.write(
      Array("Authorization: \(Self.canary)\nX-Key: \(Self.canary)\n".utf8), to: "work/secrets")
    _ = try place.folder.write(Array("\(Self.canary)\n".utf8), to: "work/bad-secrets")
    _ = try place.folder.write(
      Array("machine 127.0.0.1 login user password \(Self.canary)\n".utf8), to: "work/netrc")
    _ = try place.folder.write(
      Array(
        """
        \(login)
        user:\(Self.canary)@\(address)
        htp://u:\(Self.canary)@h
        \(url)?h\theader=Cookie: a=\(Self.canary)
        \(url)?h\theader=\(Self.canary)

        """.utf8),
      to: "work/with-logins.txt")
    _ = try place.folder.write(
      Array("127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t\(Self.canary)\n".utf8), to: "work/jar")
    chmod(place.folder.path("work/jar"), 0o600)
    let arguments = spelling.arguments.map { argument in
      switch argument {
      case "PLAIN": url
      case "LOGIN": login
      case "SIGNED": "\(url)?X-Amz-Signature=\(Self.signature)&token=\(Self.signature)"
      default: argument
      }
    }
    return (place, arguments)
  }

  /// The files in which the user put the secret himself.
  private static let own = ["secrets", "bad-secrets", "netrc", "with-logins.txt", "jar"]

  private func look(_ place: Workplace, _ run: CommandResult, _ what: String) throws {
    for text in [run.outputText, run.errorText] {
      #expect(!text.contains(Self.canary) && !text.contains(Self.signature), "\(what): \(text)")
    }
    let root = URL(filePath: place.folder.path)
    for case let url as URL in try #require(
      FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    {
      let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
      guard attributes[.type] as? FileAttributeType == .typeRegular, !Self.own.contains(url.lastPathComponent)
      else { continue }
      let bytes = try Data(contentsOf: url)
      #expect(bytes.range(of: Data(Self.canary.utf8)) == nil, "\(what): \(url.path)")
      let rights = attributes[.posixPermissions] as? Int ?? 0
      let isOwn = url.path.contains("/home/")
      if isOwn || bytes.range(of: Data(Self.signature.utf8)) != nil {
        #expect(rights & 0o077 == 0, "\(what): \(url.path) can be read by others")
      }
    }
  }

  /// Each spelling with those outcomes that say most, and with every fourth of the others, another fourth for
  /// the next spelling: all pairs would be four hundred runs.
  private static func outcomes(of spelling: Int) -> [Outcome] {
    let telling: Set = ["success", "404", "unknown option"]
    return outcomes.enumerated().filter { telling.contains($1.name) || ($0 + spelling) % 4 == 0 }.map(
      \.element)
  }

  @Test(arguments: spellings.indices)
  func everyOutcome(of index: Int) async throws {
    let spelling = Self.spellings[index]
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let refused = try RefusedPort()
    var found = 0
    for outcome in Self.outcomes(of: index) {
      if let answer = outcome.answer { origin.route("/f", answer) }
      let url = outcome.answer == nil ? refused.url("/f") : origin.url("/f")
      let (place, arguments) = try place(spelling, url)
      let isGet = outcome.command == ["get"]
      let failed = isGet ? ["--failed", "again.txt", "--retries", "0"] : []
      let run = try await place.start(outcome.command + arguments + outcome.more + failed).waitForExit()
      try look(place, run, "\(outcome.name) of \(spelling.testDescription)")
      found += run.errorText.utf8.count + run.outputText.utf8.count
      if outcome.name == "success" {
        let again = try await place.dlm("cache", "list")
        try look(place, again, "cache list after \(outcome.name)")
      }
    }
    #expect(found > 400, "the runs were to say something")
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func interrupted(signal: Int32) async throws {
    for spelling in [Self.spellings[2], Self.spellings[9], Spelling("LOGIN"), Spelling("SIGNED")] {
      let origin = try FaultyOrigin()
      defer { origin.stop() }
      let large = SplitMix64.bytes(count: 4 << 20, seed: 1)
      origin.route("/f", .file(large, FileOptions(ending: .stall(after: 3 << 20))))
      let (place, arguments) = try place(spelling, origin.url("/f"))
      let run = try place.start(["get"] + arguments + ["--failed", "again.txt"])
      try await origin.wait(for: "most of the file") { $0.bodyBytesSent.values.contains { $0 >= 3 << 20 } }
      run.send(signal)
      let result = try await run.waitForExit()
      #expect(result.errorText.contains("Resume with"), "\(result.errorText)")
      try look(place, result, "interrupted \(spelling.testDescription)")
    }
  }

  /// A redirect to another origin takes nothing along.
  @Test(arguments: [
    Spelling("PLAIN", "-H", "Authorization: \(canary)"), Spelling("PLAIN", "-H", "Cookie: a=\(canary)"),
    Spelling("PLAIN", "-H", "@authorization"), Spelling("LOGIN"), Spelling("SIGNED"),
    Spelling("PLAIN", "-H", "X-Api-Key: \(canary)"), Spelling("PLAIN", "-H", "@secrets"),
  ])
  func anotherOrigin(of spelling: Spelling) async throws {
    let (first, second) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      first.stop()
      second.stop()
    }
    let redirect = OriginAnswer.redirect(302, to: second.url("/g"))
    // A login waits for its challenge.
    first.route("/f", spelling.arguments == ["LOGIN"] ? .behindBasic(redirect) : redirect)
    second.route("/g", .file([1, 2, 3]))
    let (place, arguments) = try place(spelling, first.url("/f"))
    _ = try place.folder.write(Array("Authorization: \(Self.canary)\n".utf8), to: "work/authorization")
    let run = try await place.start(["get"] + arguments).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    try FileManager.default.removeItem(atPath: "\(place.work)/authorization")
    try look(place, run, "redirect of \(spelling.testDescription)")
    let sent = first.log.map { "\($0)" }.joined()
    let basic = Data("user:\(Self.canary)".utf8).base64EncodedString()
    #expect(
      [Self.canary, Self.signature, basic].contains { sent.contains($0) }, "it was to be sent: \(sent)")
    let leaked = second.log.map { "\($0)" }.joined()
    #expect(![Self.canary, Self.signature, basic].contains { leaked.contains($0) }, "\(leaked)")
  }

  /// What earlier versions left open to all is closed.
  @Test func rightsOfOwnFiles() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    let script =
      "umask 000; \"$0\" get \(origin.url("/f")); find ../home -exec chmod go+rX {} +; exec \"$0\" get \(origin.url("/f"))"
    let run = try await place.start("sh", ["-c", script, try DLMExecutable.path()]).waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let open = try await CommandRun.result(
      of: "find",
      [place.folder.path("home/cache/dlm"), place.folder.path("home/state/dlm/runs"), "-perm", "/077"])
    // These are made closed. The key of the credentials' hash is read only when there are credentials, and
    // the second run, which fetches nothing, is none of those that `dlm history` shows.
    let left = open.outputText.split(separator: "\n").filter {
      !$0.hasSuffix("scope-key") && !$0.hasSuffix(".past")
    }
    #expect(left.isEmpty, "\(open.outputText)")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: place.folder.path("home")).count > 3)
  }

  /// `-H @FILE`: lines as curl takes them.
  @Test func headersFromAFile() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/f", .file([1]))
    let place = try Workplace()
    _ = try place.folder.write(Array("X-One: 1\r\n\r\nX-Two: 2".utf8), to: "work/lines")
    #expect(try await place.dlm("get", "-H", "@lines", "-HX-Three: 3", origin.url("/f")).status == 0)
    let headers = try #require(origin.log.first?.headers)
    #expect(headers["x-one"] == "1" && headers["x-two"] == "2" && headers["x-three"] == "3", "\(headers)")
    let missing = try await place.dlm("get", "-H", "@none", origin.url("/f"))
    #expect(
      missing.status == 64 && missing.errorText.contains("@none cannot be read: No such file"),
      "\(missing.errorText)")
    _ = try place.folder.write(Array("X-One: 1\nno header\n".utf8), to: "work/lines")
    let bad = try await place.dlm("get", "-H", "@lines", origin.url("/f"))
    #expect(
      bad.status == 64 && bad.errorText.contains("lines, line 2 is not a header line"), "\(bad.errorText)")
  }
}
