public import DownloadModel
import Synchronization

/// A proxy of a run, and what it made of the user's login; shared by all transports of the run.
///
/// A wrong login that every file tries on its own, two dozen at a time, locks the user's account. So until the proxy has
/// let one through with it, one asks at a time; and once it was refused, nobody asks any more.
public final class Proxy: Sendable {
  public let address: ProxyAddress
  private let isOpen: Atomic<Bool>
  private let inUse: Atomic<Int>
  private let state = Mutex(State())

  private enum Access {
    case untried
    /// One asks, and the others wait for what it learns.
    case asking
    case open
    case refused(DownloadError)
  }

  private struct State {
    var access = Access.untried
    var waiting: [(ticket: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var nextTicket = 0
  }

  /// CURLAUTH_BASIC and CURLAUTH_DIGEST, whose macros Swift does not import.
  private static let basic = 1
  private static let digest = 2
  /// What dlm can log in by, as bits of CURLAUTH_….
  static let schemes = basic | digest

  public init(_ address: ProxyAddress) {
    self.address = address
    // Nothing can be learnt of a login that there is none of.
    isOpen = Atomic(!address.hasLogin)
    inUse = Atomic(Self.schemes)
  }

  /// CURLOPT_PROXYAUTH. With both, libcurl asks without a login first and takes the better of what is offered; a password
  /// so goes in the clear to no proxy that offers Digest. Once that is known it goes at once, which saves each connection
  /// a round trip.
  var authentication: Int { inUse.load(ordering: .relaxed) }

  /// Waits for the turn to ask the proxy.
  /// - Returns: whether this one tries the login; `left` is then to be called when it has ended.
  /// - Throws: what the proxy said of the login before, or `.cancelled`.
  nonisolated(nonsending) func enter() async throws(DownloadError) -> Bool {
    while !isOpen.load(ordering: .relaxed) {
      let isFirst: Bool? = try state.withLock { state throws(DownloadError) in
        switch state.access {
        case .untried:
          state.access = .asking
          return true
        case .asking: return nil
        case .open: return false
        case .refused(let error): throw error
        }
      }
      if let isFirst { return isFirst }
      await wait()
      if Task.isCancelled { throw .cancelled }
    }
    return false
  }

  /// The one that tried the login has ended, whatever came of it.
  func left() {
    change { state in
      if case .asking = state.access { state.access = .untried }
    }
  }

  /// An answer came through the proxy that it gives only to those whom it lets through.
  /// - Parameter offered: the schemes that it offered before that (CURLINFO_PROXYAUTH_AVAIL); 0 if it did not ask.
  func letThrough(offered: Int) {
    guard !isOpen.load(ordering: .relaxed) else { return }
    for scheme in [Self.digest, Self.basic] where offered & scheme != 0 {
      inUse.store(scheme, ordering: .relaxed)
      break
    }
    change { state in
      if case .refused = state.access { return }
      state.access = .open
      isOpen.store(true, ordering: .relaxed)
    }
  }

  /// The proxy refused the login: for the rest of the run, since nothing that dlm does will change that.
  func refuse(_ error: DownloadError) {
    guard address.hasLogin else { return }
    change { state in
      if case .refused = state.access { return }
      state.access = .refused(error)
      isOpen.store(false, ordering: .relaxed)
    }
  }

  // MARK: Waiting

  private func change(_ body: (inout State) -> Void) {
    let woken = state.withLock { state in
      body(&state)
      defer { state.waiting = [] }
      return state.waiting.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }

  private nonisolated(nonsending) func wait() async {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard case .asking = state.access, !Task.isCancelled else { return false }
          state.waiting.append((ticket, continuation))
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { state -> CheckedContinuation<Void, Never>? in
        guard let index = state.waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        return state.waiting.remove(at: index).continuation
      }?.resume()
    }
  }
}

/// Which proxy leads to which addresses: chosen once a run, so that libcurl searches no environment for each file.
/// `NO_PROXY` is still libcurl's to apply.
public struct ProxyRoutes: Sendable {
  public let http: Proxy?
  public let https: Proxy?

  /// The same for every address; nil for none.
  public init(_ proxy: Proxy? = nil) { (http, https) = (proxy, proxy) }

  /// Equal addresses are one proxy, which is asked once about its login.
  public init(http: ProxyAddress?, https: ProxyAddress?) {
    self.http = http.map(Proxy.init)
    self.https = https == http ? self.http : https.map(Proxy.init)
  }

  public subscript(scheme: Address.Scheme) -> Proxy? { scheme == .http ? http : https }
}
