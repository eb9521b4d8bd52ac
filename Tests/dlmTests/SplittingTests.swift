import Glibc
import TestSupport
import Testing

/// Servers here give each connection a megabyte a second, so that a file of eight is worth several; that it
/// is faster is no test's business.
@Suite("A large file over several connections: right, however they end")
struct SplittingTests {
  private static let body = SplitMix64.bytes(count: 8_388_607, seed: 11)

  private static func nginx(_ more: String = "", rate: String = "1m") async throws -> NginxServer {
    let server = try await NginxServer(
      httpLines: ["limit_conn_zone $server_port zone=all:1m;"],
      serverLines: ["location /slow/ { limit_rate \(rate); \(more) }"])
    try server.write(body, to: "slow/large.bin")
    return server
  }

  @Test(arguments: [["-s", "auto"], ["-s", "3"], ["-s", "1"]])
  func arrivesWhole(options: [String]) async throws {
    let server = try await Self.nginx()
    defer { server.stop() }
    let place = try Workplace()
    let result = try await place.start(["get", server.url("/slow/large.bin")] + options).waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("large.bin") == Self.body)
    #expect(try place.names() == ["large.bin"])
    let isSplit = options != ["-s", "1"]
    #expect(result.errorText.contains(" over ") == isSplit, "connections are said: \(result.errorText)")
    let log = try await server.accessLog(atLeast: isSplit ? 2 : 1)
    #expect((Set(log.map(\.connection)).count > 1) == isSplit)
    #expect(log.filter { $0.status == 200 }.count == 1)
    #expect(try await place.dlm("get", server.url("/slow/large.bin")).errorText.contains("up to date: 1 file"))
  }

  @Test func theChecksumIsOfTheWhole() async throws {
    let server = try await Self.nginx()
    defer { server.stop() }
    let place = try Workplace()
    let sum = try await CommandRun.result(of: "sha256sum", [server.documentRoot + "/slow/large.bin"])
    let digest = String(sum.outputText.prefix(64))
    let good = try await place.dlm("get", server.url("/slow/large.bin"), "--checksum", "sha256:\(digest)")
    #expect(good.status == 0, "\(good.errorText)")
    #expect(try place.file("large.bin") == Self.body)
  }

  /// A connection that reaches another's part has read some bytes for nothing, each time others. Two modes
  /// were then said to have fetched different amounts, and were not compared.
  @Test func modesAreComparedWhereFilesWereSplit() async throws {
    let server = try await Self.nginx()
    defer { server.stop() }
    let place = try Workplace()
    _ = try place.list([server.url("/slow/large.bin")])
    #expect(try await place.dlm("get", "urls.txt", "--no-cache", "-d", "a").status == 0)
    let second = try await place.dlm("get", "urls.txt", "--no-cache", "-d", "b", "--mode", "sequential")
    #expect(second.status == 0, "\(second.errorText)")
    #expect(second.errorText.contains("The same list in mode parallel took"), "\(second.errorText)")
    #expect(!second.errorText.contains("not comparable"), "\(second.errorText)")
  }

  /// Each life gets a little further; what a record vouches for is not fetched again.
  @Test func killedAgainAndAgain() async throws {
    let server = try await Self.nginx()
    defer { server.stop() }
    let place = try Workplace()
    var random = SplitMix64(seed: 5)
    for _ in 0..<8 {
      let run = try place.start(["get", server.url("/slow/large.bin")])
      try await Task.sleep(for: .milliseconds(Int.random(in: 300..<900, using: &random)))
      run.send(SIGKILL)
      _ = try await run.waitForExit()
    }
    let result = try await place.dlm("get", server.url("/slow/large.bin"))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("large.bin") == Self.body)
    #expect(try place.names() == ["large.bin"])
  }

  @Test func interruptedAndGoneOn() async throws {
    // Few parts that take their time, so that it is seen before its end also on a machine that has no time.
    let server = try await Self.nginx(rate: "200k")
    defer { server.stop() }
    let place = try Workplace()
    let run = try place.start(["get", "-s", "3", server.url("/slow/large.bin")])
    try await place.wait(forSize: 3_000_000, of: "large.bin.part", toSend: SIGINT, to: run)
    #expect(try await run.waitForExit().status == 130)
    #expect(try place.names() == ["large.bin.part", "large.bin.part.json"])
    let again = try await place.dlm("get", server.url("/slow/large.bin"))
    #expect(again.status == 0, "\(again.errorText)")
    #expect(again.errorText.contains("resumed"), "\(again.errorText)")
    #expect(try place.file("large.bin") == Self.body)
  }

  /// It takes two connections and refuses the rest: the file is fetched by those.
  @Test func aServerOfTwoConnections() async throws {
    let server = try await Self.nginx("limit_conn all 2;")
    defer { server.stop() }
    let place = try Workplace()
    let result = try await place.dlm("get", server.url("/slow/large.bin"))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("large.bin") == Self.body)
  }

  /// Where the server limits each connection, more are asked for what others were to bring. Nothing is asked
  /// for twice but what is on its way when a connection must be broken off: it once was an eighth of the
  /// file, and a quarter of it over TLS. The bound is generous: what the kernels hold of one connection's
  /// burst.
  ///
  /// Where the processor is shared with much else, connections that are served well look slow, and more of
  /// them are relieved; so one run in five must keep the bound, whatever else the machine does.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: [["-s", "8"], ["-s", "auto"]], [true, false])
  func littleIsSentTwice(options: [String], overTLS: Bool) async throws {
    let body = SplitMix64.bytes(count: 40 << 20, seed: 12)
    let bound = body.count + (6 << 20)
    var sent: [Int] = []
    while sent.count < 5, sent.last.map({ $0 >= bound }) ?? true {
      sent.append(try await bytesSent(body, options: options, overTLS: overTLS))
    }
    #expect(sent.contains { $0 < bound }, "\(sent)")
  }

  /// Fetches a file from a server that limits each connection.
  /// - Returns: how many bytes of bodies the server sent for that.
  private func bytesSent(_ body: [UInt8], options: [String], overTLS: Bool) async throws -> Int {
    let server = try await NginxServer(serverLines: ["location /slow/ { limit_rate 4m; }"])
    defer { server.stop() }
    try server.write(body, to: "slow/large.bin")
    let place = try Workplace()
    let url = overTLS ? server.tlsURL("/slow/large.bin") : server.url("/slow/large.bin")
    let run = try place.start(["get", url, "--cacert", server.caCertificatePath] + options)
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("large.bin") == body)
    // All connections are closed: nginx writes the last lines a moment later.
    server.stop()
    let log = try server.accessLog()
    #expect(Set(log.map(\.connection)).count > 1)
    return log.reduce(0) { $0 + $1.bodyBytes }
  }

  /// A cache that has not got the file fetches it anew for each request, and answers with the whole when it
  /// pleases.
  @Test(.timeLimit(.minutes(hangMinutes)), arguments: [true, false])
  func aCacheThatHasNotGotTheFile(answers: Bool) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = Array(Self.body.prefix(3_000_000))
    let whole = OriginAnswer.file(
      body, FileOptions(ranges: .ignored, ending: .trickle(piece: 20_000, every: .milliseconds(10))))
    origin.route("/large.bin", whole, answers ? whole : .silence())
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/large.bin"))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("large.bin") == body)
    // One part was asked for, and no other; and the first transfer was left alone.
    let ranges = origin.log.map { $0.headers["range"] }
    #expect(ranges.count == 2 && ranges[0] == nil && ranges[1] != nil, "\(ranges)")
  }

  /// Servers that promise ranges and give something else (HTTP rules 3, 5 and 8), or break off.
  @Test(arguments: [
    FileOptions.RangeConduct.ignored, .shifted(by: 1), .changedETag("\"other\""), .unlabelled,
    .completeLength("*"),
    .capped(at: 300_000, completeLength: "8388607"),
  ])
  func oddServers(ranges: FileOptions.RangeConduct) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = Array(Self.body.prefix(3_000_000))
    origin.route(
      "/large.bin",
      .file(
        body,
        FileOptions(ranges: ranges, ending: .trickle(piece: 20_000, every: .milliseconds(10)))))
    let place = try Workplace()
    let result = try await place.dlm("get", origin.url("/large.bin"))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.file("large.bin") == body)
    #expect(try place.names() == ["large.bin"])
  }
}
