import DownloadModel
import FileReceiving
import Testing

@testable import DownloadCaching

/// On one thread, so that the order of what happens is the test's.
@Suite("The table of requests in flight") @MainActor
struct InFlightTests {
  enum End: Sendable { case success, failure, cancelled }

  private let table = InFlight()
  private let key: DownloadRequest.Key
  private nonisolated static let other = TrustMark(text: "another login")
  private static let failure = DownloadError(.status, cause: .http(status: 404))
  private static let file = DownloadOutcome(kind: .fetched, path: "out/x", size: 3)

  init() throws { key = DownloadRequest.Key(address: try Address("http://h/x")) }

  /// A request that waits; returns once it does.
  /// - Parameter size: as its list declares it.
  private func waiter(_ trust: TrustMark = .usual, size: Int64? = nil) async throws -> Task<InFlight.Turn, Never> {
    let before = table.count(for: key)
    let table = table
    let key = DownloadRequest.Key(address: key.address, wishes: size.map { DownloadRequest.Wishes(size: $0) })
    let task = Task { @MainActor in await table.turn(key, trust, TransferMeter()) }
    while table.count(for: key) == before {
      try Task.checkCancellation()
      await Task.yield()
    }
    return task
  }

  private static func words(_ turn: InFlight.Turn) -> String {
    switch turn {
    case .answer(let outcome): "answer \(outcome.path)"
    case .failure(let error): "failure \(error.code)\(error.isCoalesced ? " coalesced" : "")"
    case .askAnew: "ask anew"
    case .goOn: "go on"
    }
  }

  @Test(arguments: [
    (End.success, TrustMark.usual, "answer out/x"), (.success, other, "ask anew"),
    (.failure, .usual, "failure status coalesced"), (.failure, other, "ask anew"), (.cancelled, .usual, "ask anew"),
  ])
  func whatAWaitingRequestDoesNext(end: End, trust: TrustMark, next: String) async throws {
    #expect(table.begin(key, .usual) && !table.begin(key, trust))
    let waits = try await waiter(trust)
    switch end {
    case .success: table.land(key, .success(Self.file))
    case .failure: table.land(key, .failure(Self.failure))
    case .cancelled: table.land(key, .failure(.cancelled))
    }
    #expect(await Self.words(waits.value) == next)
    #expect(!table.contains(key) && table.begin(key, .usual))
  }

  /// With the wrong size first, both lines for a URL failed.
  @Test func anotherDeclarationIsJudgedByItself() async throws {
    _ = table.begin(key, .usual)
    let waits = try await waiter(size: 3)
    let same = try await waiter()
    table.land(key, .failure(Self.failure))
    #expect(await Self.words(waits.value) == "ask anew")
    #expect(await Self.words(same.value) == "failure status coalesced")
  }

  @Test func nothingInFlightIsNotWaitedFor() async {
    #expect(await Self.words(table.turn(key, .usual, TransferMeter())) == "ask anew")
  }

  @Test func whatIsGivenUpWaitsNoLonger() async throws {
    _ = table.begin(key, .usual)
    let meter = TransferMeter()
    meter.stop(as: .cancelled)
    #expect(await Self.words(table.turn(key, .usual, meter)) == "failure cancelled")
    #expect(table.count(for: key) == 0)
  }

  /// A request that waited, and has not run since, leaves the count of the next download of the same file alone.
  @Test func anOldWaiterIsNotOneOfTheNext() async throws {
    _ = table.begin(key, .usual)
    let waits = try await waiter()
    table.land(key, .success(Self.file))
    _ = table.begin(key, .usual)
    let next = try await waiter()
    #expect(await Self.words(waits.value) == "answer out/x")
    #expect(table.count(for: key) == 1)
    table.land(key, .success(Self.file))
    #expect(await Self.words(next.value) == "answer out/x")
  }
}
