import DownloadModel
import Synchronization

/// The network loops of one run. Together they know on which connections a host answers. The lock is taken
/// when a loop starts or ends, while a request on a new connection waits 50 ms or longer, and when requests are
/// requeued; not for each file.
package final class TransportGroup: Sendable {
  private let state = Lock(State())
  /// The number of loops with a request that waits for the first answer of its connection; only then answers are
  /// counted.
  private let watchers = Atomic<Int>(0)

  private struct State {
    var agents: [CurlAgent] = []
    var trials: [String: HostHealth.Trials] = [:]
  }

  package init() {}

  var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  func watch(_ isOn: Bool) { watchers.add(isOn ? 1 : -1, ordering: .relaxed) }

  var agents: [CurlAgent] { state.withLock { $0.agents } }

  func join(_ agent: CurlAgent) { state.withLock { $0.agents.append(agent) } }

  func leave(_ agent: CurlAgent) { state.withLock { $0.agents.removeAll { $0 === agent } } }

  func trials(at host: String) -> HostHealth.Trials { state.withLock { $0.trials[host] ?? HostHealth.Trials() } }

  func change(_ host: String, _ body: (inout HostHealth.Trials) -> Void) {
    state.withLock { body(&$0.trials[host, default: HostHealth.Trials()]) }
  }
}
