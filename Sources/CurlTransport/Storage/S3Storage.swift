package import DownloadModel
import Glibc
import Synchronization

/// How `s3://` URLs are requested: where, and with which login. Shared by all transports of a run. What it needs is
/// read at the first such request.
package final class S3Storage: Sendable {
  package struct Access: Sendable {
    /// Of another store than Amazon's; its requests name the bucket in their path.
    package var endpoint: Address?
    package var region = "us-east-1"
    /// `nil` to ask without a login.
    package var credentials: S3Credentials?
    /// Whether the user pays for requests (`x-amz-request-payer`).
    package var pays = false

    package init() {}
  }

  private struct State {
    var access: Access?
    /// By bucket, as answers have told.
    var regions: [String: String] = [:]
  }

  private let loader: Loader
  private let now: @Sendable () -> Int64
  private let state = Lock(State())

  /// On a thread that may block, so that requests that arrive meanwhile wait for the same result.
  private actor Loader {
    private nonisolated let executor = BlockingExecutor(label: "s3-login")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private let load: @Sendable () throws(DownloadError) -> Access

    init(_ load: @escaping @Sendable () throws(DownloadError) -> Access) { self.load = load }

    func load(unless known: @Sendable () -> Access?) throws(DownloadError) -> Access {
      if let known = known() { return known }
      return try load()
    }
  }

  /// - Parameters:
  ///   - now: seconds since 1970, which a signature names.
  ///   - load: blocks; called again after a login has expired.
  package init(
    now: @escaping @Sendable () -> Int64 = { 0 },
    _ load: @escaping @Sendable () throws(DownloadError) -> Access = { Access() }
  ) {
    self.now = now
    loader = Loader(load)
  }

  func prepare() async throws(DownloadError) {
    if state.withLock({ $0.access != nil }) { return }
    let access = try await loader.load { state.withLock { $0.access } }
    state.withLock { $0.access = access }
  }

  /// The login has expired: it is read again for the next request.
  func expire() { state.withLock { $0.access = nil } }

  /// - Returns: whether the bucket is in another region than was assumed, and must be asked there.
  func learn(_ region: String, of address: Address) -> Bool {
    state.withLock { state in
      guard state.access?.endpoint == nil, Self.isRegion(region), self.region(of: address, state) != region else {
        return false
      }
      state.regions[address.host] = region
      return true
    }
  }

  private static func isRegion(_ text: String) -> Bool {
    text.utf8.count <= 32 && text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == .dash }
  }

  private func region(of address: Address, _ state: State) -> String {
    state.regions[address.host] ?? state.access?.region ?? "us-east-1"
  }

  struct Request {
    let url: String
    let headerLines: [String]
  }

  /// - Parameters:
  ///   - isSigned: false for a request that may not carry the user's login.
  ///   - page: of a folder's listing: the token that continues it, empty for the first page; `nil` for a file.
  func request(_ address: Address, isSigned: Bool, page: String?) -> Request {
    state.withLock { state in
      let access = state.access ?? Access()
      let region = region(of: address, state)
      var host = "\(address.host).s3.\(region).amazonaws.com"
      var path = address.path.isEmpty ? "/" : String(address.path)
      // A name with dots is not covered by Amazon's certificate.
      if access.endpoint != nil || address.host.contains(".") {
        host = access.endpoint?.hostAndPort ?? "s3.\(region).amazonaws.com"
        path = "/\(address.host)\(path)"
      }
      if page != nil { path = String(path.dropLast(address.path.dropFirst().utf8.count)) }
      let target = path + Self.query(address, page)
      let url = "\(access.endpoint?.scheme.rawValue ?? "https")://\(host)\(target)"
      let payer = access.pays ? [(name: "x-amz-request-payer", value: "requester")] : []
      guard isSigned, let credentials = access.credentials else {
        return Request(url: url, headerLines: payer.map { "\($0.name): \($0.value)" })
      }
      let signature = S3Signature(
        host: host, target: target, credentials, region: region, more: payer, at: now())
      return Request(url: url, headerLines: signature.headerLines)
    }
  }

  private static func query(_ address: Address, _ page: String?) -> String {
    guard let page else { return address.query.map { "?\($0)" } ?? "" }
    let prefix =
      String(utf8: PercentEncoding.decode(address.path.dropFirst()))
    let values = [
      ("continuation-token", page), ("delimiter", "/"), ("list-type", "2"), ("prefix", prefix),
    ].filter { !$0.1.isEmpty }
    return "?" + values.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
  }
}
