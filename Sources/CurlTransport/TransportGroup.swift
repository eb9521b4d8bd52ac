import Synchronization

/// The network loops of one run, so that what one of them cannot know alone is known: over which connections a host
/// answers. A lock that is taken where something is odd or a loop begins or ends, not for each file.
public final class TransportGroup: Sendable {
  private let state = Mutex(State())
  /// Loops on which a request waits for the first answer of its connection: only then answers are counted.
  private let watchers = Atomic<Int>(0)

  private struct State {
    var agents: [CurlAgent] = []
    var trials: [String: OvertakenRule.Trials] = [:]
  }

  public init() {}

  var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  func watch() { watchers.add(1, ordering: .relaxed) }
  func unwatch() { watchers.subtract(1, ordering: .relaxed) }

  var agents: [CurlAgent] { state.withLock { $0.agents } }

  func join(_ agent: CurlAgent) { state.withLock { $0.agents.append(agent) } }

  func leave(_ agent: CurlAgent) { state.withLock { $0.agents.removeAll { $0 === agent } } }

  func trials(at host: String) -> OvertakenRule.Trials {
    state.withLock { $0.trials[host] ?? OvertakenRule.Trials() }
  }

  func change(_ host: String, _ body: (inout OvertakenRule.Trials) -> Void) {
    state.withLock { body(&$0.trials[host, default: OvertakenRule.Trials()]) }
  }
}
