import DownloadModel
import Synchronization
import TestSupport
import Testing

@testable import CurlTransport

@Suite("A limit on the bytes a second of everything")
struct RateLimitTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func overdrawnIsPaidByWaiting() {
    let bucket = RateLimiter(bytesPerSecond: 1000)
    let start = 10 * Self.second
    #expect(bucket.pause(at: start) == 0)
    // A tenth of a second's worth is free after a lull, and no more, however long it was.
    bucket.pay(for: 100, at: start)
    #expect(bucket.pause(at: start) == 0)
    bucket.pay(for: 500, at: start)
    #expect(bucket.pause(at: start) == Self.second / 2)
    #expect(bucket.pause(at: start + Self.second / 4) == Self.second / 4)
    bucket.pay(for: 1000, at: start + Self.second / 4)
    #expect(bucket.pause(at: start + Self.second / 4) == Self.second * 5 / 4)
    #expect(bucket.pause(at: start + 2 * Self.second) == 0)
    bucket.pay(for: 100, at: start + 60 * Self.second)
    #expect(bucket.pause(at: start + 60 * Self.second) == 0)
    bucket.pay(for: 1, at: start + 60 * Self.second)
    #expect(bucket.pause(at: start + 60 * Self.second) > 0)
  }

  /// In the long run exactly the rate, whatever the sizes of what comes.
  @Test(arguments: [1, 100, 1460, 65_536])
  func theLongRun(piece: Int) {
    let bucket = RateLimiter(bytesPerSecond: 1_000_000)
    var now = Self.second
    for _ in 0..<1000 {
      bucket.pay(for: piece, at: now)
      now += bucket.pause(at: now)
    }
    let expected = Double(piece) * 1000 / 1e6
    let seconds = Double(now - Self.second) / 1e9
    #expect(abs(seconds - expected) <= 0.1001)
  }

  @Test func readsAreSmallUnderASlowLimit() {
    #expect(RateLimiter(bytesPerSecond: 1 << 30).bufferSize == 48 * 1024)
    #expect(RateLimiter(bytesPerSecond: 1_000_000).bufferSize == 2500)
    #expect(RateLimiter(bytesPerSecond: 1000).bufferSize == 1024)
    #expect(RateLimiter(bytesPerSecond: 1 << 30).receiveBuffer == nil)
    #expect(RateLimiter(bytesPerSecond: 1000).receiveBuffer == 4096)
  }

  /// Under a limit a transfer takes no less than its time, and everything arrives: one large file or many
  /// small ones.
  @Test(arguments: [(1, 1_000_000), (100, 10_000)])
  func transfers(count: Int, size: Int) async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let body = SplitMix64.bytes(count: size, seed: 3)
    origin.route("/f", .file(body))
    var options = TransportOptions(userAgent: "test")
    options.limits = RateLimits(bytesPerSecond: 1_000_000)
    options.width = 16
    let transport = try CurlTransport(options)
    let clock = ContinuousClock()
    let start = clock.now
    let request = TransferRequest(address: try Address(origin.url("/f")))
    try await withThrowingTaskGroup { group in
      for _ in 0..<count {
        group.addTask {
          let sink = CollectingSink()
          _ = try await transport.fetch(request, into: sink)
          #expect(sink.bytes == body)
        }
      }
      try await group.waitForAll()
    }
    // A second, less a tenth that is free. Many small ones once took less than half, since all came in the
    // first burst. No upper bound: machines are slow.
    #expect(start.duration(to: clock.now) > .milliseconds(890))
    await transport.shutdown()
  }

  /// Over 60 connections 4 MiB came at once and then nothing for 5 s, and no file ended before the last.
  @Test func noBurstOverManyConnections() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    origin.route("/large", .file(SplitMix64.bytes(count: 300_000, seed: 3)))
    origin.route("/small", .file(SplitMix64.bytes(count: 20_000, seed: 4)))
    var options = TransportOptions(userAgent: "test")
    options.limits = RateLimits(bytesPerSecond: 1_000_000)
    let transport = try CurlTransport(options)
    let sink = OverdraftSink(options.limits.total)
    try await withThrowingTaskGroup { group in
      for path in ["/small"] + Array(repeating: "/large", count: 7) {
        let request = TransferRequest(address: try Address(origin.url(path)))
        // On the loop, so that an end is seen at once, however busy the other threads are.
        group.addTask(executorPreference: transport.taskExecutor) {
          _ = try await transport.fetch(request, into: sink)
          sink.state.withLock { $0.atFirstEnd = $0.atFirstEnd ?? $0.bytes }
        }
      }
      try await group.waitForAll()
    }
    // A machine that is slow reads less at once, never more.
    let state = sink.state.withLock { $0 }
    #expect(state.overdrawn < Self.second / 2)
    // The small file is a hundredth of all.
    #expect(try #require(state.atFirstEnd) < state.bytes * 9 / 10)
    await transport.shutdown()
  }

  // MARK: One host, or one file

  private static func time(
    _ limits: RateLimits, _ bodies: [Int], of host: String = "127.0.0.1", http2: Bool = false
  ) async throws -> Duration {
    try await withTransport({ ($0.limits, $0.usesHTTP2) = (limits, http2) }) { transport, origin in
      for (index, count) in bodies.enumerated() {
        origin.route("/\(index)", .file(SplitMix64.bytes(count: count, seed: 5)))
      }
      let clock = ContinuousClock()
      let start = clock.now
      try await withThrowingTaskGroup { group in
        for (index, count) in bodies.enumerated() {
          let address = try Address(origin.url("/\(index)").replacing("127.0.0.1", with: host))
          group.addTask {
            let (_, sink) = try await transport.fetch(address)
            #expect(sink.bytes == SplitMix64.bytes(count: count, seed: 5))
          }
        }
        try await group.waitForAll()
      }
      return start.duration(to: clock.now)
    }
  }

  /// Each takes no less than its time, over small and large files; no upper bound, because machines are slow.
  @Test(arguments: ["127.0.0.1=100", "127.0.0.1=1", "file=1", "file=3"])
  func oneHostOrFile(row: String) async throws {
    let parts = row.split(separator: "=")
    let count = try #require(Int(parts[1]))
    let limits = parts[0] == "file" ? RateLimits(perFile: 300_000) : RateLimits()
    if parts[0] != "file" { limits.set(300_000, of: String(parts[0])) }
    // Of files each has its own limit, so that three take no longer than one.
    let size = parts[0] == "file" ? 300_000 : 300_000 / count
    let time = try await Self.time(limits, Array(repeating: size, count: count))
    #expect(time > .milliseconds(850))
  }

  /// At this rate the bytes would take five minutes.
  @Test func anotherHostIsNotLimited() async throws {
    let limits = RateLimits()
    limits.set(1000, of: "127.0.0.1")
    #expect(try await Self.time(limits, [300_000], of: "localhost") < .seconds(120))
  }

  @Test func aLimitIsLiftedWhileATransferWaits() async throws {
    let limits = RateLimits(bytesPerSecond: 20_000)
    let lifting = Task {
      try await Task.sleep(for: .milliseconds(300))
      limits.set(0, of: nil)
    }
    #expect(try await Self.time(limits, [3_000_000]) < .seconds(120))
    try await lifting.value
  }

  @Test func aLimitIsSetWhileATransferRuns() async throws {
    let limits = RateLimits(bytesPerSecond: 1_000_000)
    let start = ContinuousClock.now
    let setting = Task {
      try await Task.sleep(for: .milliseconds(100))
      limits.set(200_000, of: "127.0.0.1")
    }
    _ = try await Self.time(limits, [800_000])
    #expect(start.duration(to: .now) > .seconds(1))
    try await setting.value
  }

  /// As two processes would.
  @Test func twoTransportsShareTheLimitOfAHost() async throws {
    let accounts = Accounts()
    let all = (0..<2).map { _ in
      let limits = RateLimits()
      limits.share(accounts)
      limits.set(300_000, of: "127.0.0.1")
      return limits
    }
    async let first = Self.time(all[0], [150_000])
    async let second = Self.time(all[1], [150_000])
    #expect(try await max(first, second) > .milliseconds(850))
  }

  private final class Accounts: SharedAccounts {
    private let booked = Lock<[UInt64: UInt64]>([:])

    func number(of name: String) -> UInt64 { UInt64(name.utf8.count) }

    func book(_ price: UInt64, of account: UInt64, from earliest: UInt64, within longest: UInt64) -> UInt64? {
      booked.withLock { booked in
        let start = max(booked[account, default: 0], earliest)
        booked[account] = start + price
        return start
      }
    }
  }

  @Test func aLimitSplitsNothing() async throws {
    try await withTransport { transport, origin in
      let place = try origin.address("/")
      #expect(!transport.isAtLimit(at: place))
    }
    let limits = RateLimits()
    limits.set(1000, of: "127.0.0.1")
    try await withTransport({ $0.limits = limits }) { transport, origin in
      let (place, other) = (try origin.address("/"), try Address("http://localhost/"))
      #expect(transport.isAtLimit(at: place))
      #expect(!transport.isAtLimit(at: other))
    }
    try await withTransport({ $0.limits = RateLimits(perFile: 1 << 40) }) { transport, origin in
      let place = try origin.address("/")
      #expect(transport.isAtLimit(at: place))
    }
  }

  /// What the limit held back was read again and again before the others, which stalled.
  @Test func everyTransferHasItsShare() async throws {
    let origin = try FaultyOrigin()
    defer { origin.stop() }
    let gate = try Gate()
    defer { gate.open() }
    let body = SplitMix64.bytes(count: 1_000_000, seed: 3)
    origin.route("/f", .file(body))
    origin.route("/late", .late(body, until: gate))
    var options = TransportOptions(userAgent: "test")
    options.limits = RateLimits(bytesPerSecond: 20_000)
    let transport = try CurlTransport(options)
    let shares = Shares(of: 80_000, gate)
    let requests = try ["/f", "/late"].map { TransferRequest(address: try Address(origin.url($0))) }
    await withTaskGroup { group in
      for index in 0..<24 {
        let request = requests[index % 2]
        group.addTask { _ = try? await transport.fetch(request, into: ShareSink(shares, index)) }  // it is cut off
      }
    }
    // An even one is some 3000 bytes.
    let least = shares.bytes.withLock { bytes in (0..<24).map { bytes[$0, default: 0] }.min() ?? 0 }
    #expect(least > 1000)
    await transport.shutdown()
  }
}

/// Bytes by transfer, until there are enough in all. The gate is opened when an eighth is there.
private final class Shares: Sendable {
  let bytes = Lock<[Int: Int]>([:])
  private let enough: Int
  private let gate: Gate

  init(of enough: Int, _ gate: Gate) { (self.enough, self.gate) = (enough, gate) }

  func take(_ count: Int, of index: Int) throws(DownloadError) {
    let sum = bytes.withLock { bytes in
      bytes[index, default: 0] += count
      return bytes.values.reduce(0, +)
    }
    if sum > enough / 8 { gate.open() }
    if sum > enough { throw .cancelled }
  }
}

private final class ShareSink: ByteSink {
  private let shares: Shares
  private let index: Int

  init(_ shares: Shares, _ index: Int) { (self.shares, self.index) = (shares, index) }

  func accept(_ head: ResponseHead) -> BodyDisposition { .write }

  func write(_ bytes: UnsafeRawBufferPointer) throws(DownloadError) -> SinkDemand {
    try shares.take(bytes.count, of: index)
    return .more
  }
}

private final class OverdraftSink: ByteSink {
  struct State {
    /// For how many nanoseconds nothing may be read, at most.
    var overdrawn: UInt64 = 0
    var bytes = 0
    /// How many bytes of all transfers had come when the first of these ended.
    var atFirstEnd: Int?
  }

  let state = Lock(State())
  private let limit: RateLimiter

  init(_ limit: RateLimiter) { self.limit = limit }

  func accept(_ head: ResponseHead) -> BodyDisposition { .write }

  func write(_ bytes: UnsafeRawBufferPointer) -> SinkDemand {
    let pause = limit.pause(at: CurlLoop.now)
    state.withLock {
      $0.overdrawn = max($0.overdrawn, pause)
      $0.bytes += bytes.count
    }
    return .more
  }
}
