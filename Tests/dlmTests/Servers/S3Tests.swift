import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Objects of S3: signed, listed, resumed, refused; and whose login goes where")
struct S3Tests {
  private static let body = SplitMix64.bytes(count: 300_000, seed: 41)
  private static let keys = ["plain", "a b", "a+b=c", "d/e?f#g", "ä", "x%41", "dots/../y", "two//slashes", "(1)!*'~"]

  /// A list has each key as users write it, but for a `%` that encodes nothing else.
  private static func url(_ key: String) -> String { "s3://bucket/\(key.replacing("%", with: "%25"))" }

  @Test func keysOfAllKinds() async throws {
    let server = try await S3Server()
    defer { server.stop() }
    for key in Self.keys { try server.write(Array(key.utf8), key: key) }
    let place = try Workplace(server.variables)
    try place.folder.write(Array(Self.keys.map(Self.url).joined(separator: "\n").utf8), to: "work/list")
    let run = try await place.dlm("get", "list", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    for key in Self.keys {
      let name = key.split(separator: "/").last.map(String.init) ?? ""
      #expect(try place.file("out/\(name)") == Array(key.utf8))
    }
    let again = try await place.dlm("get", "list", "-d", "out")
    #expect(again.status == 0 && again.errorText.contains("up to date"), "\(again.errorText)")
  }

  @Test func aPrefixIsAList() async throws {
    let server = try await S3Server(faults: ["page=2"])
    defer { server.stop() }
    let keys = (0..<7).map { "data/f\($0)&" } + ["data/sub/g", "data/sub/deep/h", "other", "/lead/x"]
    for key in keys { try server.write(Array(key.utf8), key: key) }
    let place = try Workplace(server.variables)
    let run = try await place.dlm("get", "s3://bucket/data/", "-d", "out")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.names(in: "out") == (0..<7).map { "f\($0)&" })
    let deep = try await place.dlm("get", "s3://bucket/data/", "--accept", "*", "--depth", "1", "-d", "deep")
    #expect(deep.status == 0, "\(deep.errorText)")
    #expect(try place.file("deep/sub/g") == Array("data/sub/g".utf8))
    // A key that starts with a slash was left out without a word.
    let all = try await place.dlm("get", "s3://bucket/", "--accept", "*", "--depth", "9", "-d", "all")
    #expect(all.status == 0 && all.errorText.contains("11 files"), "\(all.errorText)")
  }

  /// A strong tag, ranges: all that HTTP has.
  @Test func aStoppedRunGoesOn() async throws {
    let server = try await S3Server()
    defer { server.stop() }
    let body = SplitMix64.bytes(count: 2_500_000, seed: 42)
    try server.write(body, key: "f")
    let place = try Workplace(server.variables)
    let first = try place.start(["get", "s3://bucket/f", "--limit-rate", "500K"])
    try await place.wait(forSize: 400_000, of: "f.part", toSend: SIGTERM, to: first)
    #expect(try await first.waitForExit().status == 143)
    let run = try await place.dlm("get", "s3://bucket/f")
    #expect(run.status == 0 && run.errorText.contains("resumed"), "\(run.errorText)")
    #expect(try place.file("f") == body)
  }

  @Test(
    arguments: [
      (["skew"], [:], 1, "clock"), (["token=right"], ["AWS_SESSION_TOKEN": "right"], 0, ""),
      (["token=right"], ["AWS_SESSION_TOKEN": "wrong"], 1, "InvalidToken"),
      ([], ["AWS_SECRET_ACCESS_KEY": "wrong"], 1, "SignatureDoesNotMatch"),
      ([], ["AWS_ACCESS_KEY_ID": "none"], 1, "InvalidAccessKeyId"),
      ([], ["AWS_ACCESS_KEY_ID": ""], 1, "AccessDenied"), (["anonymous"], ["AWS_ACCESS_KEY_ID": ""], 0, ""),
      (["payer"], [:], 1, "AccessDenied"),
    ] as [([String], [String: String], Int32, String)])
  func logins(faults: [String], more: [String: String], status: Int32, text: String) async throws {
    let server = try await S3Server(faults: faults)
    defer { server.stop() }
    try server.write([1], key: "f")
    let place = try Workplace(server.variables.merging(more) { $1 })
    let run = try await place.dlm("get", "s3://bucket/f")
    #expect(run.status == status && (text.isEmpty || run.errorText.contains(text)), "\(run.errorText)")
    #expect(!run.errorText.contains("SK/+secret"))
  }

  @Test func aProfileACommandAndAPayer() async throws {
    let server = try await S3Server(faults: ["payer"])
    defer { server.stop() }
    try server.write([1], key: "f")
    let endpoint = try #require(server.variables["AWS_ENDPOINT_URL"])
    let place = try Workplace()
    let login = "aws_access_key_id = AK/+key\naws_secret_access_key=SK/+secret\n"
    try place.folder.write(Array("[default]\n\n[mine]\n\(login)".utf8), to: "home/.aws/credentials")
    try place.folder.write(Array("[profile mine]\nendpoint_url = \(endpoint)\n".utf8), to: "home/.aws/config")
    let run = try await place.dlm("get", "s3://bucket/f", "--aws-profile", "mine", "--request-payer")
    #expect(run.status == 0, "\(run.errorText)")
    let none = try await place.dlm("get", "s3://bucket/f", "--aws-profile", "nobody", "-d", "b")
    #expect(none.status == 1 && none.errorText.contains("--aws-profile nobody"), "\(none.errorText)")
    // Such a login asked as anybody, and the answer was 403.
    try place.folder.write(
      Array("[half]\naws_access_key_id = AK\n[role]\nrole_arn = arn:x\n".utf8), to: "home/.aws/credentials")
    for (profile, words) in [("half", "aws_secret_access_key is missing"), ("role", "has no keys")] {
      let run = try await place.dlm("get", "s3://bucket/f", "--aws-profile", profile, "-d", "b")
      #expect(run.status == 1 && run.errorText.contains(words), "\(run.errorText)")
    }
    let json = #"{"Version":1,"AccessKeyId":"AK/+key","SecretAccessKey":"SK/+secret"}"#
    let script = try place.folder.write(Array("#!/bin/sh\necho '\(json)'\n".utf8), to: "login")
    chmod(script, 0o755)
    let other = try Workplace(["AWS_ENDPOINT_URL": endpoint])
    let asked = try await other.dlm("get", "s3://bucket/f", "--aws-command", script, "--request-payer")
    #expect(asked.status == 0, "\(asked.errorText)")
    let failed = try await other.dlm("get", "s3://bucket/f", "--aws-command", "false", "-d", "b")
    #expect(failed.status == 1 && failed.errorText.contains("no login"), "\(failed.errorText)")
  }

  /// The tag of an object in one part is its MD5, but not under a key of KMS, and not of one in several parts.
  @Test(
    arguments: [
      ([], 0), (["corrupt"], 1), (["corrupt", "encryption=AES256"], 1), (["corrupt", "encryption=aws:kms"], 0),
      (["corrupt", "encryption=aws:kms:dsse"], 0), (["corrupt", "tag=-2"], 0), (["tag=-2"], 0),
    ] as [([String], Int32)])
  func theTagIsAChecksum(faults: [String], status: Int32) async throws {
    let server = try await S3Server(faults: faults)
    defer { server.stop() }
    try server.write(Self.body, key: "f")
    let place = try Workplace(server.variables)
    let run = try await place.dlm("get", "s3://bucket/f", "--retries", "0")
    #expect(run.status == status, "\(run.errorText)")
    #expect(status == 0 || run.errorText.contains("checksum mismatch"), "\(run.errorText)")
    let isProved = faults.isEmpty
    let strict = try await place.dlm("get", "s3://bucket/f", "--require-proof", "digest", "-d", "strict")
    #expect((strict.status == 0) == isProved, "\(strict.errorText)")
  }

  /// The command gives a new login when the first has expired.
  @Test func aLoginThatExpires() async throws {
    let server = try await S3Server(faults: ["expire-after=2"])
    defer { server.stop() }
    for number in 0..<6 { try server.write([UInt8(number)], key: "f\(number)") }
    let endpoint = try #require(server.variables["AWS_ENDPOINT_URL"])
    let place = try Workplace(["AWS_ENDPOINT_URL": endpoint])
    let counter = place.folder.path("counter")
    let text = """
      #!/bin/sh
      echo x >> \(counter)
      n=$(wc -l < \(counter))
      echo "{\\"Version\\":1,\\"AccessKeyId\\":\\"AK/+key\\",\\"SecretAccessKey\\":\\"SK/+secret\\",\\"SessionToken\\":\\"t$n\\"}"

      """
    let script = try place.folder.write(Array(text.utf8), to: "login")
    chmod(script, 0o755)
    let urls = (0..<6).map { "s3://bucket/f\($0)" }
    let run = try await place.dlm(["get", "-m", "sequential", "--aws-command", script] + urls)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.folder.read("counter").count == 4, "it was asked twice")
  }

  /// A list from elsewhere gets no signature.
  @Test func aThirdPartyList() async throws {
    let server = try await S3Server()
    let origin = try FaultyOrigin()
    defer {
      server.stop()
      origin.stop()
    }
    try server.write([1], key: "f")
    origin.route("/list", .file(Array("s3://bucket/f\n".utf8)))
    let place = try Workplace(server.variables)
    let run = try await place.dlm("get", "--list", origin.url("/list"))
    #expect(run.status == 1 && run.errorText.contains("AccessDenied"), "\(run.errorText)")
    #expect(server.requests.allSatisfy { $0.hasSuffix("open") })
    let own = try await place.dlm("get", "s3://bucket/f")
    #expect(own.status == 0, "\(own.errorText)")
  }

  @Test func noSuchKeyAndNoRedirectTo() async throws {
    let server = try await S3Server()
    let origin = try FaultyOrigin()
    defer {
      server.stop()
      origin.stop()
    }
    try server.write([1], key: "f")
    origin.route("/f", .redirect(302, to: "s3://bucket/f"))
    let place = try Workplace(server.variables)
    let missing = try await place.dlm("get", "s3://bucket/nope")
    #expect(missing.status == 1 && missing.errorText.contains("404"), "\(missing.errorText)")
    let redirected = try await place.dlm("get", origin.url("/f"))
    #expect(redirected.status == 1 && redirected.errorText.contains("redirect"), "\(redirected.errorText)")
    #expect(server.requests.count == 1)
  }
}
