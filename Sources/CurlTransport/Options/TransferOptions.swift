import CCurl
import DownloadModel

/// The current options of an easy handle. Expensive ones are set only if they differ from the last transfer's.
struct TransferOptions: ~Copyable {
  /// Kept as long as libcurl points to it.
  private var ownLines: HeaderLines?
  private var detours: HeaderLines?
  private var ftp = FTPOptions()
  private var ssh = SSHOptions()
  private(set) var proxy: Proxy?
  /// `nil` while it is being set.
  private var isHome: Bool? = true
  private var readsNetrc = true
  private(set) var hasNoBody = false
  /// Whether it is for an object of S3.
  private(set) var isStored = false
  private var cookies: String?
  private var login: String?
  private(set) var bufferSize = 0
  private(set) var way: ConnectionWay = []
  /// The origin whose Digest challenge libcurl keeps in the handle.
  var challenger: String?

  /// - Parameters:
  ///   - isProbe: whether the request only asks for the file's version.
  ///   - page: of the listing of a folder of S3.
  mutating func set(
    _ request: TransferRequest, to address: Address, isProbe: Bool = false, page: String? = nil,
    _ settings: TransferSettings,
    on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    isStored = address.scheme == .s3
    let stored = isStored ? stored(request, address, page, settings) : nil
    try easy.set(CURLOPT_URL, stored?.url ?? address.transportText)
    // A key may have dots between its slashes.
    if stored != nil { try easy.set(CURLOPT_PATH_AS_IS, 1) }
    try set(settings.options.proxies[address.scheme], on: easy)
    let wantedWay = settings.way(to: address)
    if wantedWay != way { try settings.apply(wantedWay, to: easy) }
    way = wantedWay
    if settings.options.usesHTTP2 {
      // Wait for the connection that another transfer is opening, to share it. Over http, libcurl would wait for that
      // transfer's end: there no handshake tells the version.
      try easy.set(CURLOPT_PIPEWAIT, settings.mayShareConnections(to: address) ? 1 : 0)
    }
    let start = address.scheme.isFTP || address.scheme == .scp ? nil : request.rangeStart
    try easy.set(CURLOPT_RANGE, start.map { "\($0)-" + (request.rangeEnd.map { "\($0 - 1)" } ?? "") })
    try ftp.set(request, to: address, requiresTLS: settings.options.trust.tls.isRequired, on: easy)
    let isWithoutBody = request.isHead || isProbe
    if isWithoutBody != hasNoBody { try easy.set(CURLOPT_NOBODY, isWithoutBody ? 1 : 0) }
    hasNoBody = isWithoutBody
    try setUserData(of: request, for: address, adding: stored?.headerLines ?? [], settings, on: easy)
  }

  /// What only the origin of the request's URL gets: header lines, cookies, login, client certificate.
  private mutating func setUserData(
    of request: TransferRequest, for address: Address, adding signature: [String], _ settings: TransferSettings,
    on easy: borrowing EasyHandle
  ) throws(CurlFailure) {
    let goesHome = request.isHome(address)
    let isOther = goesHome != isHome
    isHome = nil
    if isOther { try settings.applyGuarded(goesHome, to: easy) }
    let mayRead = settings.readsNetrc(for: address, of: request)
    if mayRead != readsNetrc { try settings.apply(netrc: mayRead, to: easy) }
    readsNetrc = mayRead
    let own = GivenLines.own(of: request, for: address)
    let wanted = own.cookies ?? (goesHome ? settings.given.cookies : nil)
    if wanted != cookies { try easy.set(CURLOPT_COOKIE, wanted) }
    cookies = wanted
    let given = goesHome && !address.hasCredentials && address.scheme != .s3 ? settings.options.trust.login : nil
    if given != login { try easy.set(CURLOPT_USERPWD, given) }
    login = given
    if address.scheme.isSSH {
      let hasLogin = given != nil || settings.hasLogin(for: address, of: request)
      try ssh.set(to: address, hasLogin: hasLogin, settings.options.ssh, on: easy)
    } else {
      try ssh.unset(on: easy)
    }
    let more = signature.isEmpty ? request.headerLines : request.headerLines + signature
    if !more.isEmpty || !own.others.isEmpty {
      let lines = try settings.lines(isHome: goesHome, own, adding: more)
      try easy.set(CURLOPT_HTTPHEADER, list: lines)
      ownLines = consume lines
    } else if ownLines != nil || isOther {
      try settings.applyLines(goesHome, to: easy)
      ownLines = nil
    }
    isHome = goesHome
  }

  private func stored(
    _ request: TransferRequest, _ address: Address, _ page: String?, _ settings: TransferSettings
  ) -> S3Storage.Request {
    settings.options.storage.request(
      address, isSigned: request.isHome(address), page: address.isServerFolder ? page ?? "" : nil)
  }

  /// The data of a transfer over FTP has begun.
  func expectLastReply(on easy: borrowing EasyHandle) throws(CurlFailure) { try ftp.expectLastReply(on: easy) }

  private mutating func set(_ wanted: Proxy?, on easy: borrowing EasyHandle) throws(CurlFailure) {
    if wanted !== proxy {
      try easy.set(CURLOPT_PROXY, wanted?.address.wireText ?? "")
      proxy = wanted
    }
    if let wanted { try easy.set(CURLOPT_PROXYAUTH, wanted.authentication) }
  }

  mutating func set(_ detours: consuming HeaderLines, on easy: borrowing EasyHandle) throws(CurlFailure) {
    try easy.set(CURLOPT_RESOLVE, list: detours)
    self.detours = consume detours
  }

  mutating func set(bufferSize size: Int, on easy: borrowing EasyHandle) throws(CurlFailure) {
    guard bufferSize != size else { return }
    do {
      try easy.set(CURLOPT_BUFFERSIZE, size)
      bufferSize = size
    } catch {
      // The handle keeps its last transfer's buffer, because other transfers use the same connection (HTTP/2).
      guard case .curl(Int32(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), _) = error.cause else { throw error }
    }
  }
}
