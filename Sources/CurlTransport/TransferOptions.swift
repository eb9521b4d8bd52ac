import CCurl
import DownloadModel

/// What an easy handle is set to at the moment, so that only what differs is set from one transfer to the next;
/// everything else stays as `TransferSettings` set it.
struct TransferOptions: ~Copyable {
  /// Kept while libcurl points to it.
  private var ownLines: HeaderLines?
  private var lines = TransferSettings.Lines.all
  private var hasRange = false
  private var isFresh = false
  /// The proxy that leads to where the request goes.
  private(set) var proxy: Proxy?
  private var authentication = 0
  private var isHome = true
  /// CURLOPT_HTTPAUTH; libcurl begins with Basic.
  private var schemes = dlm_auth_basic
  private(set) var bufferSize = 0

  /// Address, range, header lines.
  /// - Parameter address: where the request goes: its own, or where redirects led.
  mutating func set(
    _ request: TransferRequest, to address: Address, _ settings: borrowing TransferSettings,
    on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    try easy.set(CURLOPT_URL, address.wireText)
    try set(settings.proxies[address.scheme], on: easy)
    if let start = request.rangeStart {
      try easy.set(CURLOPT_RANGE, "\(start)-" + (request.rangeEnd.map { "\($0 - 1)" } ?? ""))
      hasRange = true
    } else if hasRange {
      try easy.set(CURLOPT_RANGE, nil)
      hasRange = false
    }
    if settings.hasGuardedOptions {
      let goesHome = address.isSameOrigin(as: request.address)
      if goesHome != isHome { try settings.applyGuarded(goesHome, to: easy) }
      isHome = goesHome
    }
    let wanted = settings.lines(for: address, of: request)
    if !request.headerLines.isEmpty {
      let lines = try settings.lines(wanted, adding: request.headerLines)
      try easy.set(CURLOPT_HTTPHEADER, list: lines)
      ownLines = consume lines
    } else if ownLines != nil || lines != wanted {
      try settings.apply(wanted, to: easy)
      ownLines = nil
    }
    lines = wanted
  }

  private mutating func set(_ wanted: Proxy?, on easy: borrowing EasyHandle) throws(CurlFailure) {
    if wanted !== proxy {
      try easy.set(CURLOPT_PROXY, wanted?.address.wireText ?? "")
      proxy = wanted
    }
    guard let wanted, wanted.authentication != authentication else { return }
    try easy.set(CURLOPT_PROXYAUTH, wanted.authentication)
    authentication = wanted.authentication
  }

  mutating func set(_ login: LoginStage, on easy: borrowing EasyHandle) throws(CurlFailure) {
    let wanted =
      switch login {
      case .basic, .plainBasic: dlm_auth_basic
      case .probe: dlm_auth_none
      case .digest: dlm_auth_digest
      case .negotiate: dlm_auth_negotiate
      }
    guard schemes != wanted else { return }
    try easy.set(CURLOPT_HTTPAUTH, wanted)
    schemes = wanted
  }

  /// - Parameter wanted: whether to open a connection without looking for an idle one (CURLOPT_FRESH_CONNECT).
  mutating func set(isFresh wanted: Bool, on easy: borrowing EasyHandle) throws(CurlFailure) {
    guard isFresh != wanted else { return }
    try easy.set(CURLOPT_FRESH_CONNECT, wanted)
    isFresh = wanted
  }

  mutating func set(bufferSize size: Int, on easy: borrowing EasyHandle) throws(CurlFailure) {
    guard bufferSize != size else { return }
    do throws(CurlFailure) {
      try easy.set(CURLOPT_BUFFERSIZE, size)
      bufferSize = size
    } catch {
      // The handle still has the buffer of its last transfer, because others go on over the same connection (HTTP/2).
      guard error.code == CURLE_BAD_FUNCTION_ARGUMENT else { throw error }
    }
  }
}
