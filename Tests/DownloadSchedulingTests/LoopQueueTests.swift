import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("Several loops share one queue: hosts' places are divided, files dealt", .timeLimit(.minutes(hangMinutes)))
struct RequestQueueShareTests {
  private static func queue(_ hosts: [String], ceiling: Int, widths: [Int]) throws -> RequestQueue {
    let list = try hosts.enumerated().map {
      DownloadRequest(id: $0.offset, address: try Address("http://\($0.element)/\($0.offset)"))
    }
    return RequestQueue(
      RequestList(list), ceiling: ceiling, widths: widths, retry: RetryPolicy(), clock: ManualClock(),
      random: { 0.5 })
  }

  /// Idle connections of one loop must not add to another's beyond what the host takes.
  @Test(arguments: [(1, [0, 1]), (2, [1, 1]), (3, [1, 2]), (16, [8, 8])])
  func placesAreDivided(limit: Int, sorted: [Int]) {
    for name in ["a", "b", "c", "example.org:8080"] {
      let host = QueuedHost(HostLimiter(ceiling: limit), shares: 2, name)
      #expect([host.quota(of: 0), host.quota(of: 1)].sorted() == sorted)
    }
  }

  /// Hosts that take one at a time do not all end up on one loop.
  @Test func oddPlacesSpread() {
    let homes = (0..<32).map { number in
      QueuedHost(HostLimiter(ceiling: 1), shares: 4, "host\(number).example.org")
    }.map { host in (0..<4).first { host.quota(of: $0) == 1 } }
    for share in 0..<4 { #expect(homes.count { $0 == share } >= 4) }
  }

  /// A few places are where their connections are: a loop that has none would have to take another's.
  @Test(arguments: [
    (3, [1, 2], [1, 2]), (3, [3, 3], [0, 3]), (3, [0, 0], [3, 0]), (1, [2, 1], [1, 0]), (4, [1, 2], [1, 3]),
    (2, [5, 0], [2, 0]),
  ])
  func fewPlaces(limit: Int, before: [Int], after: [Int]) {
    #expect(QueuedHost.parts(of: limit, like: before) == after)
  }

  /// The loops are told what they may keep, once for each change.
  @Test(.timeLimit(.minutes(hangMinutes))) func loopsAreTold() async throws {
    let told = Monitor<[[Int]?]>([])
    let list = try (0..<40).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    try await RequestQueue(
      RequestList(list), ceiling: 64, widths: [12, 12], retry: RetryPolicy(), clock: ManualClock(),
      random: { 0.5 }, limitConnections: { _, parts in told.withState { $0.append(parts) } }
    ).run { shares in
      var taken: [(Int, DownloadRequest)] = []
      for index in 0..<24 {
        let share = shares[index % 2]
        taken.append((index % 2, try #require(await share.next())))
      }
      let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
      for (share, request) in taken.dropFirst(3) { _ = shares[share].requeue(request, after: busy) }
      #expect(told.withState { $0.last } == .some([1, 2]) || told.withState { $0.last } == .some([2, 1]))
      #expect(told.withState { $0.count } == 21)
      for (share, request) in taken.prefix(3) { shares[share].ended(request, wasAsked: true) }
      #expect(told.withState { $0.count } == 21)
    }
  }

  /// They are told by the threads that make the changes, in order.
  @Test(.timeLimit(.minutes(hangMinutes))) func loopsAreToldInOrder() async throws {
    let told = Monitor<[Int]>([])
    let list = try (0..<200).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    let queue = RequestQueue(
      RequestList(list), ceiling: 300, widths: [100, 100], retry: RetryPolicy(), clock: ManualClock(),
      random: { 0.5 },
      limitConnections: { _, parts in told.withState { $0.append(parts?.reduce(0, +) ?? 0) } })
    let busy = DownloadError(.status, cause: .http(status: 503), isTransient: true)
    try await queue.run { shares in
      var taken: [(LoopQueue, DownloadRequest)] = []
      for index in list.indices {
        let share = shares[index % 2]
        taken.append((share, try #require(await share.next())))
      }
      await withTaskGroup { group in
        for (share, request) in taken.dropLast(5) {
          group.addTask { _ = share.requeue(request, after: busy) }
        }
      }
    }
    #expect(told.withState { $0 } == Array((5..<200).reversed()))
  }

  /// Whoever asks first does not get all: four large files are two on each of two loops.
  @Test(.timeLimit(.minutes(hangMinutes))) func fourLargeFiles() async throws {
    try await Self.queue(["a", "a", "a", "a"], ceiling: 16, widths: [8, 8]).run { shares in
      let taken = Monitor<[[DownloadRequest]]>([[], []])
      await withTaskGroup { group in
        for index in 0..<2 {
          let share = shares[index]
          group.addTask {
            for _ in 0..<2 {
              guard let request = await share.next() else { return }
              taken.withState { $0[index].append(request) }
            }
          }
        }
      }
      #expect(taken.withState { $0.map(\.count) } == [2, 2])
      for (share, requests) in zip(shares, taken.withState { $0 }) {
        for request in requests { share.ended(request, wasAsked: true) }
      }
      #expect(await shares[0].next() == nil)
    }
  }

  /// A share whose lanes are all busy is not waited for.
  @Test(.timeLimit(.minutes(hangMinutes))) func aBusyShareIsNotWaitedFor() async throws {
    try await Self.queue(["b", "a", "a", "a"], ceiling: 16, widths: [8, 1]).run { shares in
      #expect(await shares[1].next()?.id == 0)
      for id in 1...3 { #expect(await shares[0].next()?.id == id) }
    }
  }

  @Test(
    .timeLimit(.minutes(hangMinutes)), arguments: [DownloadMode.asyncLet, .parallel], [[4, 4], [3, 2, 2], [1, 1]])
  func everyRequestOnce(mode: DownloadMode, widths: [Int]) async throws {
    let hosts = (0..<200).map { ["a", "b", "c"][$0 % 3] }
    try await Self.queue(hosts, ceiling: 2, widths: widths).run { shares in
      let seen = Monitor([Int]())
      await withTaskGroup { group in
        for (index, width) in widths.enumerated() {
          let share = shares[index]
          group.addTask {
            await mode.strategy.run(share, width: width) { request in
              await Task.yield()
              seen.withState { $0.append(request.id) }
              share.ended(request, wasAsked: true)
            }
          }
        }
      }
      #expect(seen.withState { $0.sorted() } == Array(0..<200))
    }
  }
}
