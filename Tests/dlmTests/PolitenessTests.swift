import DownloadModel
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Hosts that take only so much (HTTP rule 12)")
struct PolitenessTests {
  /// Two connections allowed by a server, three servers, thirty files in the servers' order.
  @Test(arguments: ["async-let", "parallel"])
  func threeServersOfTwo(mode: String) async throws {
    var servers: [NginxServer] = []
    defer { for server in servers { server.stop() } }
    let body = SplitMix64.bytes(count: 60_000, seed: 3)
    for _ in 0..<3 {
      servers.append(
        try await NginxServer(
          httpLines: ["limit_conn_zone $server_port zone=all:1m;"],
          serverLines: ["limit_conn all 2;", "limit_rate 600k;"]))
    }
    for server in servers {
      for index in 0..<10 { try server.write(body, to: "f\(index)") }
    }
    let place = try Workplace()
    let lines = servers.flatMap { server in (0..<10).map { server.url("/f\($0)") } }
    _ = try place.list(lines)
    let run = try await place.start(["get", "urls.txt", "-m", mode, "-d", "out"])
      .waitForExit()
    #expect(run.status == 0, "\(run.errorText)")
    let names = try place.names(in: "out")
    #expect(names.count == 30)
    for name in names { #expect(try place.file("out/\(name)") == body) }
  }

  /// The story: a server with one thread, of whose queue more than five connections fall off, gave 200 files in 34 s
  /// that it gives in 4 s one by one, because the kernel tries such connections again after 1 s, 3 s, 7 s, 15 s.
  @Test func aServerWhoseQueueOfConnectionsIsShort() async throws {
    let server = try await DelayedOrigin(seconds: 0.02)
    defer { server.stop() }
    let place = try Workplace()
    let list = try place.list((0..<100).map { server.url("/f\($0)") })
    let run = try await place.dlm("get", list, "-j", "64", "-d", "out", "--verbose")
    #expect(run.status == 0, "\(run.errorText.suffix(2000))")
    #expect(try place.names(in: "out").count == 100)
    // Not connected, or not answered: which comes first is a matter of the machine's load.
    #expect(run.errorText.contains("; again at once"), "they are asked again")
  }

  /// nginx ends an HTTP/2 connection after so many requests (a thousand, unless told otherwise), and libcurl
  /// 7.88 gives up those that were on their way. That is no failure of theirs: nobody waits, and nobody is
  /// told.
  @Test func connectionsOfFewRequests() async throws {
    let server = try await NginxServer(serverLines: ["keepalive_requests 40;"])
    defer { server.stop() }
    for index in 0..<800 {
      try server.write(SplitMix64.bytes(count: 500 + index, seed: UInt64(index)), to: "f\(index)")
    }
    let place = try Workplace()
    _ = try place.list((0..<800).map { server.tlsURL("/f\($0)") })
    let run = try await place.dlm(
      "get", "urls.txt", "--http2", "--cacert", server.caCertificatePath, "-d", "out", "--retries", "1")
    #expect(run.status == 0, "\(run.errorText.suffix(2000))")
    #expect(!run.errorText.contains("retry"), "\(run.errorText.suffix(2000))")
    for index in 0..<800 {
      #expect(try place.file("out/f\(index)") == SplitMix64.bytes(count: 500 + index, seed: UInt64(index)))
    }
  }

  /// The rule was there and tested, and nobody asked it: each run took as many at once as it had lanes. Where
  /// a server answers, two dozen are begun before the first file has ended; where it takes its time, 64.
  @Test func aListIsBegunWithAFew() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    for index in 0..<200 {
      origin.route("/f\(index)", .file([1, 2, 3], FileOptions(ending: .stall(after: 1, until: gate))))
    }
    let place = try Workplace()
    _ = try place.list((0..<200).map { origin.url("/f\($0)") })
    let run = try place.start(["get", "urls.txt", "-d", "out", "--verbose", "--per-host", "200"])
    for index in 0..<24 { try await origin.wait(path: "/f\(index)", bodyBytesSent: 1) }
    try await Task.sleep(for: .milliseconds(200))  // in which more would come
    #expect((24...64).contains(origin.log.count))
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out").count == 200)
    let most = result.errorText.split(separator: " ").last { $0.hasPrefix("most=") }
    #expect(most.flatMap { Int($0.dropFirst(5)) }.map { (24...64).contains($0) } == true, "\(most ?? "")")
  }

  /// HTTP rule 56. Only what the user says of the host itself counts before it has answered.
  @Test(
    arguments: [
      ([], 8), (["-j", "40"], 8), (["-j", "40", "--per-host", "20"], 20), (["-j", "40", "-s", "12"], 12),
      (["-j", "5"], 5),
    ] as [([String], Int)], ["1", "2"])
  func anUnknownHostIsNotFlooded(row: ([String], Int), loops: String) async throws {
    let (options, first) = row
    let (origin, gate) = (try FaultyOrigin(), try Gate())
    defer { origin.stop() }
    for number in 0..<40 { origin.route("/f\(number)", .late([1], until: gate)) }
    let place = try Workplace(["DLM_LOOPS": loops])
    let list = try place.list((0..<40).map { origin.url("/f\($0)") })
    let run = try place.start(["get", list, "-d", "out"] + options)
    try await origin.wait(forRequests: first)
    try await Task.sleep(for: .milliseconds(200))  // in which more would come
    #expect(origin.log.count == first)
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try place.names(in: "out").count == 40)
  }

  /// What a host answers, and does not end, lets others begin as well: also bodies of unknown length.
  @Test func anAnswerCountsBeforeItsEnd() async throws {
    let (origin, gate) = (try FaultyOrigin(), try Gate())
    defer { origin.stop() }
    for number in 0..<20 {
      let options = FileOptions(framing: .chunked(size: 100), ending: .stall(after: 1000, until: gate))
      origin.route("/f\(number)", .file(Array(repeating: 1, count: 2000), options))
    }
    let place = try Workplace()
    let list = try place.list((0..<20).map { origin.url("/f\($0)") })
    let run = try place.start(["get", list, "-d", "out", "-j", "20"])
    try await origin.wait(forRequests: 20)
    gate.open()
    let result = try await run.waitForExit()
    #expect(result.status == 0, "\(result.errorText)")
  }

  /// A host that takes eight requests a second, and says so in each answer.
  private final class Window: Sendable {
    private let state = Lock<(begin: ContinuousClock.Instant?, numbers: [String: Int], count: Int)>((nil, [:], 0))

    /// - Returns: whether a request has this number in its second; 1 is asked for first.
    private func has(_ number: Int, _ target: String) -> Bool {
      state.withLock { state in
        if number > 1 { return state.numbers[target] == number }
        if state.begin.map({ ContinuousClock.now - $0 >= .seconds(1) }) ?? true {
          (state.begin, state.count) = (.now, 0)
        }
        state.count += 1
        state.numbers[target] = state.count
        return state.count == 1
      }
    }

    var answer: OriginAnswer {
      (1...8).reversed().reduce(OriginAnswer.status(429)) { others, number in
        let fields = ["RateLimit: \"second\";r=\(8 - number);t=1"]
        return .either(
          { [self] target, _ in has(number, target) }, .file([1], FileOptions(headers: fields)),
          else: others)
      }
    }
  }

  @Test func whatAnUnknownHostSaysIsHeededFromTheStart() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let window = Window()
    for number in 0..<16 { origin.route("/f\(number)", window.answer) }
    let place = try Workplace()
    let list = try place.list((0..<16).map { origin.url("/f\($0)") })
    let run = try await place.dlm("get", list, "-d", "out", "-j", "16")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.log.count == 16, "none is refused, so none is asked for again")
  }

  /// sentinelsat#233: the notice stood as the product. Files beside it are not held back.
  @Test func aFileThatIsNotReadyYet() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let notice = OriginAnswer.status(202, headers: ["Retry-After: 1"])
    origin.route("/S2A.zip", notice, notice, .file([1, 2, 3]))
    origin.route("/later.zip", .status(202), .file([4]))
    origin.route("/notice", .status(202))
    let place = try Workplace()
    let run = try await place.dlm("get", origin.url("/S2A.zip"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try place.file("S2A.zip") == [1, 2, 3])
    let retried = try await place.dlm("get", origin.url("/later.zip"), "--retry-on", "202")
    #expect(retried.status == 0, "\(retried.errorText)")
    #expect(try place.file("later.zip") == [4])
    #expect(try await place.dlm("get", origin.url("/notice")).status == 0, "a 202 alone is an answer")
    origin.route("/tape", notice)
    let failed = try await place.dlm("get", origin.url("/tape"), "--retries", "0")
    #expect(failed.status == 75 && failed.errorText.contains("still preparing the file"), "\(failed.errorText)")
  }

  /// A 429 holds back its whole host, not one file; another host goes on.
  @Test func retryAfterIsOfTheHost() async throws {
    let (busy, free) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      busy.stop()
      free.stop()
    }
    for index in 0..<6 { busy.route("/f\(index)", .file([1])) }
    busy.route("/f0", .status(429, headers: ["Retry-After: 2"]), .file([1]))
    for index in 0..<20 { free.route("/g\(index)", .file([2])) }
    let place = try Workplace()
    _ = try place.list(
      (0..<6).map { busy.url("/f\($0)") } + (0..<20).map { free.url("/g\($0)") })
    let run = try await place.dlm("get", "urls.txt", "-m", "sequential", "-d", "out", "--verbose")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(busy.log.count == 7)
    // In its quiet it was not asked again, while the other host's files all arrived.
    let order = run.errorText.split(separator: "\n").filter { $0.contains("fetched") }
    #expect(order.count == 26)
    #expect(order.prefix(20).allSatisfy { $0.contains(free.url("/g")) }, "\(run.errorText)")
  }

  /// The second says that nothing is left for a second: the third waits for that, and nobody is refused.
  @Test func aHostThatSaysWhatItTakes() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    for index in 0..<3 {
      let fields = ["X-RateLimit-Remaining: \(max(0, 1 - index))", "X-RateLimit-Reset: 1"]
      origin.route("/f\(index)", .file([1], FileOptions(headers: fields)))
    }
    let place = try Workplace()
    _ = try place.list((0..<3).map { origin.url("/f\($0)") })
    let start = ContinuousClock.now
    let run = try await place.dlm("get", "urls.txt", "-m", "sequential", "-d", "out")
    #expect(run.status == 0 && origin.log.count == 3, "\(run.errorText)")
    #expect(start.duration(to: .now) >= .seconds(1))
    #expect(!run.errorText.contains("retry"), "\(run.errorText)")
  }

  /// Common Crawl throttles with 403: as with 429 its host is left alone, and another's 403 is an answer.
  @Test func statusesThatThrottle() async throws {
    let (busy, other) = (try FaultyOrigin(), try FaultyOrigin())
    defer {
      busy.stop()
      other.stop()
    }
    for index in 0..<4 { busy.route("/f\(index)", .file([1])) }
    busy.route("/f0", .status(403), .file([1]))
    for index in 0..<4 { other.route("/g\(index)", index == 0 ? .status(403) : .file([2])) }
    let place = try Workplace()
    let text = "[127.0.0.1:\(busy.port)]\nretry-on = 403, 418\n"
    _ = try place.folder.write(Array(text.utf8), to: "home/config/dlm/dlm.conf")
    _ = try place.list((0..<4).map { busy.url("/f\($0)") } + (0..<4).map { other.url("/g\($0)") })
    let run = try await place.dlm("get", "urls.txt", "-m", "sequential", "-d", "out", "--verbose")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(try place.names(in: "out").count == 7)
    #expect(busy.log.count == 5 && other.log.count == 4)
    let order = run.errorText.split(separator: "\n").filter { $0.contains("fetched") }
    #expect(order.prefix(3).allSatisfy { $0.contains(other.url("/g")) }, "in its quiet it was asked: \(run.errorText)")
    // Asked once, it says what it would have said, and that it may pass.
    busy.route("/x", .status(403))
    let once = try await place.dlm("get", busy.url("/x"), "--retries", "0")
    #expect(once.status == 75 && once.errorText.contains("403 Forbidden"), "\(once.errorText)")
    #expect(busy.log.count == 6)
    let typed = try await place.dlm("get", other.url("/g0"), "--retry-on", "5xx")
    #expect(typed.status == 1, "\(typed.errorText)")
  }

  /// A host that is down does not cost a list of its files the whole backoff each.
  @Test func aHostThatIsDown() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let refused = try RefusedPort()
    for index in 0..<20 { origin.route("/f\(index)", .file([2])) }
    let place = try Workplace()
    _ = try place.list(
      (0..<300).map { refused.url("/f\($0)") } + (0..<20).map { origin.url("/f\($0)") })
    let run = try await place.start(["get", "urls.txt", "-d", "out", "--retries", "2"])
      .waitForExit()
    #expect(run.status == 75)
    #expect(run.errorText.contains("300 files: cannot connect"), "\(run.errorText.suffix(3000))")
    #expect(try place.names(in: "out").count == 20)
  }
}
