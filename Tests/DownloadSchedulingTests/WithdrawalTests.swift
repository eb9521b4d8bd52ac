import DownloadModel
import Testing

@testable import DownloadScheduling

@Suite("Requests that are wanted no more are taken back")
struct WithdrawalTests {
  private func request(_ id: Int, _ host: String = "h", isFirst: Bool = false) throws -> DownloadRequest {
    DownloadRequest(id: id, address: try Address("http://\(host)/\(id)"), isFirst: isFirst)
  }

  /// A run that looks ahead holds more than its hosts do.
  @Test func thoseThatAreReadAheadEndToo() throws {
    var state = RequestQueueState(
      ceiling: 1, widths: [4], retry: RetryPolicy(retries: 5), looksAhead: true)
    var ahead = try (0..<300).map { try request($0, isFirst: $0.isMultiple(of: 2)) }[...]
    state.window.readAhead(besides: state.hosts.held) { ahead.popFirst() }
    state.received(nil)
    guard case .give(let first) = state.step(for: 0, at: .zero, { nil }) else {
      Issue.record("the first one can go")
      return
    }
    #expect(first.id == 0)
    let withdrawn = state.withdraw(Set(0..<299))
    #expect(withdrawn.map(\.id).sorted() == Array(1..<299), "the first one is in flight")
    _ = state.ended(first, share: 0, wasAsked: true)
    guard case .give(let last) = state.step(for: 0, at: .zero, { nil }) else {
      Issue.record("one is left")
      return
    }
    #expect(last.id == 299)
    _ = state.ended(last, share: 0, wasAsked: true)
    guard case .end = state.step(for: 0, at: .zero, { nil }) else {
      Issue.record("nothing is left")
      return
    }
  }

  /// One at a time of a host: the first is in flight, the others are held.
  @Test func heldRequestsEndWhereTheyWait() throws {
    var state = RequestQueueState(ceiling: 1, widths: [4], retry: RetryPolicy(retries: 5))
    var list = try (0..<4).map { try request($0) }[...]
    guard case .give(let first) = state.step(for: 0, at: .zero, { list.popFirst() }) else {
      Issue.record("the first one can go")
      return
    }
    #expect(first.id == 0)
    _ = state.step(for: 0, at: .zero) { list.popFirst() }
    let withdrawn = state.withdraw([0, 1, 3, 9])
    #expect(withdrawn.map(\.id).sorted() == [1, 3], "the first one is in flight")
    #expect(state.hosts.waits(at: .zero).map(\.waiting) == [1])
    state.received(nil)
    _ = state.ended(first, share: 0, wasAsked: true)
    guard case .give(let second) = state.step(for: 0, at: .zero, { nil }) else {
      Issue.record("the host is free")
      return
    }
    #expect(second.id == 2)
    _ = state.ended(second, share: 0, wasAsked: true)
    guard case .end = state.step(for: 0, at: .zero, { nil }) else {
      Issue.record("nothing is left")
      return
    }
  }
}
