import CCurl
package import DownloadModel
import Synchronization

/// A proxy for all transports of a run. Repeated attempts with a wrong login would lock the user's account. So until
/// the proxy has accepted the login once, one transfer tries it at a time, and after a refusal none does.
package final class Proxy: Sendable {
  package let address: ProxyAddress
  private let isOpen: Atomic<Bool>
  private let inUse: Atomic<Int>
  private let access = Waiters(Access.untried)

  private enum Access {
    case untried
    case asking
    case open
    case refused(DownloadError)
  }

  /// The schemes that dlm supports, as bits of CURLAUTH_….
  static let schemes = dlm_auth_basic | dlm_auth_digest

  package init(_ address: ProxyAddress) {
    self.address = address
    isOpen = Atomic(!address.hasLogin)
    inUse = Atomic(Self.schemes)
  }

  /// The proxies by the scheme of the URL. Equal addresses give one `Proxy`, whose login is tried once.
  package static func routes(
    http: ProxyAddress?, https: ProxyAddress?, ftp: ProxyAddress? = nil
  ) -> [Address.Scheme: Proxy] {
    var known: [Proxy] = []
    func proxy(at address: ProxyAddress?) -> Proxy? {
      guard let address else { return nil }
      if let same = known.first(where: { $0.address == address }) { return same }
      let new = Proxy(address)
      known.append(new)
      return new
    }
    let ftp = proxy(at: ftp)
    let http = proxy(at: http)
    let https = proxy(at: https)
    let routes: [Address.Scheme: Proxy?] = [
      .http: http, .https: https, .s3: https, .ftp: ftp, .ftps: ftp, .ftpes: ftp,
    ]
    return routes.compactMapValues(\.self)
  }

  /// CURLOPT_PROXYAUTH. With both schemes, libcurl sends a request without a login first and uses the better of those
  /// offered. Once the scheme is known, the login is sent at once, which saves each connection a round trip.
  var authentication: Int { inUse.load(ordering: .relaxed) }

  /// - Returns: whether this transfer tries the login; then `left` must be called when it has ended.
  /// - Throws: the proxy's earlier refusal of the login, or `.cancelled`.
  nonisolated(nonsending) func enter() async throws(DownloadError) -> Bool {
    if isOpen.load(ordering: .relaxed) { return false }
    let before = await access.wait { access -> Access? in
      if case .asking = access { return nil }
      defer { if case .untried = access { access = .asking } }
      return access
    }
    switch before {
    case .untried: return true
    case .open: return false
    case .refused(let error): throw error
    case .asking, nil: throw .cancelled
    }
  }

  func left() {
    access.withLock { access in
      if case .asking = access { access = .untried }
    }
  }

  /// - Parameter offered: the schemes it offered before (CURLINFO_PROXYAUTH_AVAIL); 0 if it required no login.
  func letThrough(offered: Int) {
    guard !isOpen.load(ordering: .relaxed) else { return }
    if let scheme = [dlm_auth_digest, dlm_auth_basic].first(where: { offered & $0 != 0 }) {
      inUse.store(scheme, ordering: .relaxed)
    }
    decide(.open)
  }

  /// The refusal holds for the rest of the run.
  func refuse(_ error: DownloadError) {
    if address.hasLogin { decide(.refused(error)) }
  }

  private func decide(_ decision: Access) {
    access.withLock { access in
      if case .refused = access { return }
      access = decision
      let isOpen = if case .open = decision { true } else { false }
      self.isOpen.store(isOpen, ordering: .relaxed)
    }
  }
}
