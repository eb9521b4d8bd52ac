package import DownloadModel
import Synchronization

/// The limits of a run's transfers, shared by all its transports (`--limit-rate`, `--limit-rate-file`).
package final class RateLimits: Sendable {
  /// Of all transfers together.
  package let total: RateLimiter
  /// Of each file, in bytes a second; `nil` for none.
  let perFile: Int64?
  private let state = Lock(State())
  /// Most runs limit no host, and then no lock is taken.
  private let areHostsLimited = Atomic(false)
  private let changes = Atomic(0)

  private struct State {
    /// By host, or by host and port, in lower case.
    var hosts: [String: RateLimiter] = [:]
    var accounts: (any SharedAccounts)?

    func limiter(_ bytesPerSecond: Int64, of host: String) -> RateLimiter {
      RateLimiter(bytesPerSecond: bytesPerSecond, account: accounts.map { SharedAccount($0, "bytes \(host)") })
    }
  }

  package init(bytesPerSecond: Int64 = 0, perFile: Int64? = nil) {
    total = RateLimiter(bytesPerSecond: bytesPerSecond)
    self.perFile = perFile
  }

  /// From now on, the limits of hosts are those of all this user's processes together.
  package func share(_ accounts: (any SharedAccounts)?) {
    state.withLock { state in
      state.accounts = accounts
      for (host, limiter) in state.hosts { state.hosts[host] = state.limiter(limiter.bytesPerSecond, of: host) }
    }
  }

  /// - Parameters:
  ///   - bytesPerSecond: 0 for no limit.
  ///   - host: `nil` for all transfers together.
  package func set(_ bytesPerSecond: Int64, of host: String?) {
    if let host {
      state.withLock { state in
        if let known = state.hosts[host] { return known.set(bytesPerSecond: bytesPerSecond) }
        state.hosts[host] = state.limiter(bytesPerSecond, of: host)
      }
      areHostsLimited.store(true, ordering: .relaxed)
    } else {
      total.set(bytesPerSecond: bytesPerSecond)
    }
    changes.add(1, ordering: .relaxed)
  }

  /// Greater after each change.
  var version: Int { changes.load(ordering: .relaxed) }

  private func limiter(of place: Address) -> RateLimiter? {
    guard areHostsLimited.load(ordering: .relaxed) else { return nil }
    return state.withLock { $0.hosts[place.hostAndPort] ?? $0.hosts[place.host] }
  }

  /// The limits of a transfer, with a new one for its file; empty without a limit.
  func limiters(of place: Address) -> [RateLimiter] {
    if perFile == nil, !total.isOn, !areHostsLimited.load(ordering: .relaxed) { return [] }
    let file = perFile.map { RateLimiter(bytesPerSecond: $0) }
    return [total, limiter(of: place), file].compactMap { $0?.isOn == true ? $0 : nil }
  }

  /// Whether a limit slows transfers from this URL. A host's limit counts as reached, because other processes may use
  /// it, too.
  func hold(_ place: Address, at now: UInt64) -> Bool {
    perFile != nil || limiter(of: place)?.isOn == true || total.pause(at: now - RateLimiter.allowance / 2) > 0
  }
}
