import DownloadModel
import TestSupport
import Testing

@testable import DownloadScheduling

@Suite("Several loops share one queue: hosts' places are divided, files dealt")
struct HostQueueShareTests {
  private static func queue(_ hosts: [String], ceiling: Int, widths: [Int]) throws -> HostQueue {
    let list = try hosts.enumerated().map {
      DownloadRequest(id: $0.offset, address: try Address("http://\($0.element)/\($0.offset)"))
    }
    return HostQueue(
      RequestList(list), ceiling: ceiling, widths: widths, retry: RetryPolicy(), clock: ManualClock(),
      random: { 0.5 })
  }

  /// Idle connections of one loop must not add to another's beyond what the host takes.
  @Test(arguments: [(1, [0, 1]), (2, [1, 1]), (3, [1, 2]), (16, [8, 8])])
  func placesAreDivided(limit: Int, sorted: [Int]) {
    for name in ["a", "b", "c", "example.org:8080"] {
      let host = HostQueue.Host(HostPace(ceiling: limit), shares: 2, name)
      #expect([host.quota(of: 0), host.quota(of: 1)].sorted() == sorted)
    }
  }

  /// Hosts that take one at a time do not all end up on one loop.
  @Test func oddPlacesSpread() {
    let homes = (0..<32).map { number in
      HostQueue.Host(HostPace(ceiling: 1), shares: 4, "host\(number).example.org")
    }.map { host in (0..<4).first { host.quota(of: $0) == 1 } }
    for share in 0..<4 { #expect(homes.count { $0 == share } >= 4) }
  }

  /// A few places are where their connections are: a loop that has none would have to take another's.
  @Test(arguments: [
    (3, [1, 2], [1, 2]), (3, [3, 3], [0, 3]), (3, [0, 0], [3, 0]), (1, [2, 1], [1, 0]), (4, [1, 2], [1, 3]),
    (2, [5, 0], [2, 0]),
  ])
  func fewPlaces(limit: Int, before: [Int], after: [Int]) {
    #expect(HostQueue.Host.parts(of: limit, like: before) == after)
  }

  /// The loops are told what they may keep, once for each change.
  @Test(.timeLimit(.minutes(5))) func loopsAreTold() async throws {
    let told = Monitor<[[Int]?]>([])
    let list = try (0..<40).map { DownloadRequest(id: $0, address: try Address("http://a/\($0)")) }
    let queue = HostQueue(
      RequestList(list), ceiling: 64, widths: [12, 12], retry: RetryPolicy(), clock: ManualClock(),
      random: { 0.5 }, keep: { _, parts in told.withState { $0.append(parts) } })
    async let _ = queue.read()
    var taken: [(Int, DownloadRequest)] = []
    for index in 0..<24 {
      let share = HostQueueShare(queue, index % 2)
      taken.append((index % 2, try #require(await share.next())))
    }
    let busy = DownloadError(.status, cause: .http(status: 503), isPassing: true)
    for (share, request) in taken.dropFirst(3) { _ = queue.takeBack(request, after: busy, share: share) }
    #expect(told.withState { $0.last } == .some([1, 2]) || told.withState { $0.last } == .some([2, 1]))
    #expect(told.withState { $0.count } == 21)
    for (share, request) in taken.prefix(3) { queue.ended(request, wasAsked: true, share: share) }
    #expect(told.withState { $0.count } == 21)
  }

  /// Whoever asks first does not get all: four large files are two on each of two loops.
  @Test(.timeLimit(.minutes(5))) func fourLargeFiles() async throws {
    let queue = try Self.queue(["a", "a", "a", "a"], ceiling: 16, widths: [8, 8])
    async let _ = queue.read()
    let taken = Monitor<[[DownloadRequest]]>([[], []])
    await withTaskGroup { group in
      for index in 0..<2 {
        let share = HostQueueShare(queue, index)
        group.addTask {
          for _ in 0..<2 {
            guard let request = await share.next() else { return }
            taken.withState { $0[index].append(request) }
          }
        }
      }
    }
    #expect(taken.withState { $0.map(\.count) } == [2, 2])
    for (index, requests) in taken.withState({ $0 }).enumerated() {
      for request in requests { queue.ended(request, wasAsked: true, share: index) }
    }
    #expect(await queue.next() == nil)
  }

  /// A share whose lanes are all busy is not waited for.
  @Test(.timeLimit(.minutes(5))) func aBusyShareIsNotWaitedFor() async throws {
    let queue = try Self.queue(["b", "a", "a", "a"], ceiling: 16, widths: [8, 1])
    async let _ = queue.read()
    #expect(await HostQueueShare(queue, 1).next()?.id == 0)
    for id in 1...3 { #expect(await queue.next()?.id == id) }
  }

  @Test(
    .timeLimit(.minutes(5)), arguments: [DownloadMode.asyncLet, .parallel], [[4, 4], [3, 2, 2], [1, 1]])
  func everyRequestOnce(mode: DownloadMode, widths: [Int]) async throws {
    let hosts = (0..<200).map { ["a", "b", "c"][$0 % 3] }
    let queue = try Self.queue(hosts, ceiling: 2, widths: widths)
    async let _ = queue.read()
    let seen = Monitor([Int]())
    await withTaskGroup { group in
      for (index, width) in widths.enumerated() {
        let share = HostQueueShare(queue, index)
        group.addTask {
          await mode.strategy.run(share, width: width, isolation: nil) { request, _ in
            await Task.yield()
            seen.withState { $0.append(request.id) }
            queue.ended(request, wasAsked: true, share: index)
          }
        }
      }
    }
    #expect(seen.withState { $0.sorted() } == Array(0..<200))
  }
}
