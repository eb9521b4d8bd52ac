import CCurl
import DownloadModel
import Glibc

// Long because: libcurl calls back into one handle from its request to its verdict.

/// One easy handle and the transfer that it runs now; it is kept and used again for the next transfer.
///
/// It stays on its loop's thread: the agent starts and ends it there, and libcurl calls back there. The pointer that
/// libcurl holds is unretained; that is safe because the agent keeps every transfer alive until it has left the multi
/// handle, and its easy handle is cleaned up with it.
final class CurlTransfer {
  let easy: EasyHandle
  /// Nil while idle.
  var completion: Completion?
  /// The address it goes to, or went to last.
  private(set) var destination: Address?
  /// The wait for the current or last answer.
  private(set) var answerWait = AnswerWait()
  /// Whether it is paused, as its body became more than one turn of the loop may decode.
  private(set) var isBehind = false
  private let loop: CurlLoop
  private let group: TransportGroup
  private let rateLimit: RateLimiter?
  private let cookieJar: CookieJar?
  private let onTransfer: (@Sendable (TransferTimes) -> Void)?
  private let logins: LoginMemory
  private let errorBuffer: UnsafeMutablePointer<CChar>
  private var options = TransferOptions()
  private var lastBody: Int64?
  private var assembler = HeadAssembler()
  private var quiet = StallWatch.Quiet()
  /// How many milliseconds more than usual it may take to connect, as it was held for so long.
  private var heldTime = 0
  private var exchange: Exchange?
  /// When the exchange began; 0 where nobody is told.
  private var beganAt: UInt64 = 0

  /// What follows when libcurl has finished a transfer.
  enum Finish {
    case ended(Result<TransferReceipt, DownloadError>)
    /// Another request follows: see `follow`.
    case goesOn
  }

  init(
    _ settings: borrowing TransferSettings, _ logins: LoginMemory, on loop: CurlLoop, _ group: TransportGroup
  ) throws(CurlFailure) {
    easy = try EasyHandle()
    self.loop = loop
    self.group = group
    rateLimit = settings.rateLimit
    cookieJar = settings.cookieJar
    onTransfer = settings.onTransfer
    self.logins = logins
    errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try configure(settings)
  }

  /// Sets the options that every transfer has.
  private func configure(_ settings: borrowing TransferSettings) throws(CurlFailure) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try settings.apply(to: easy)
    try easy.set(CURLOPT_ERRORBUFFER, pointer: errorBuffer)
    try easy.set(CURLOPT_PRIVATE, pointer: context)
    try easy.set(CURLOPT_HEADERFUNCTION, callback: curlDidReceiveHeader)
    try easy.set(CURLOPT_HEADERDATA, pointer: context)
    try easy.set(CURLOPT_WRITEFUNCTION, callback: curlDidReceiveBody)
    try easy.set(CURLOPT_WRITEDATA, pointer: context)
    try easy.setOpenCallback(curlDidOpenSocket)
    try easy.set(CURLOPT_SOCKOPTDATA, pointer: context)
    try easy.setRequestCallback(curlWillSendRequest)
    try easy.set(CURLOPT_PREREQDATA, pointer: context)
    try easy.setCloseCallback(curlWillCloseSocket)
    try easy.set(CURLOPT_CLOSESOCKETDATA, pointer: loop.callbackContext)
  }

  deinit {
    // The handle is cleaned up after this, and must not refer to the buffer then (CURLOPT_ERRORBUFFER).
    do throws(CurlFailure) {
      try easy.set(CURLOPT_ERRORBUFFER, pointer: nil)
      if cookieJar != nil { try easy.set(CURLOPT_SHARE, pointer: nil) }
    } catch {
      assertionFailure("CURLOPT_ERRORBUFFER and CURLOPT_SHARE take no pointer")
    }
    errorBuffer.deallocate()
  }

  /// The transfer of an easy handle that a multi handle reports as ended.
  static func of(_ easy: UnsafeMutableRawPointer) -> CurlTransfer? {
    var context: UnsafeMutablePointer<CChar>?
    guard dlm_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { return nil }
    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  // MARK: Requests

  /// - Parameters:
  ///   - running: the transfers of the loop, this one included.
  ///   - connections: those of the loop that are open.
  func prepare(
    _ request: TransferRequest, into sink: any ByteSink, _ settings: borrowing TransferSettings, running: Int,
    connections: Int
  ) throws(CurlFailure) {
    var exchange = Exchange(request, sink)
    let hasLogin = settings.hasLogin(for: request.address, of: request)
    exchange.send(try loginStage(at: request.address, hasLogin, settings), hasLogin: hasLogin)
    try options.set(request, to: request.address, settings, on: easy)
    // If every connection has its transfer, libcurl need not search thousands for an idle one.
    try options.set(isFresh: !settings.sharesConnections && connections < running, on: easy)
    try options.set(
      bufferSize: rateLimit?.bufferSize
        ?? ReceiveBuffer.size(
          running: running, lastBody: lastBody, scheme: request.address.scheme,
          isShared: settings.mayShareConnections(to: request.address)), on: easy)
    if heldTime > 0 {
      heldTime = 0
      try easy.set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout)
    }
    self.exchange = consume exchange
    beganAt = onTransfer == nil ? 0 : monotonicNanoseconds()
    begin(request, to: request.address)
  }

  /// How the first request to an address shows its login.
  private func loginStage(
    at address: Address, _ hasLogin: Bool, _ settings: borrowing TransferSettings
  ) throws(CurlFailure) -> LoginStage {
    let stage = logins.stage(at: address, hasLogin: hasLogin, challenger: options.challenger)
    // The handle has the challenge of another origin.
    if stage == .probe, options.challenger != nil { try renew(settings) }
    try options.set(stage, on: easy)
    return stage
  }

  /// Makes a transfer that has not begun open a connection of its own.
  func useFreshConnection() throws(CurlFailure) { try options.set(isFresh: true, on: easy) }

  /// Sends the request to where its answer led, or once more with another kind of login. It may reuse the connection
  /// that it just had.
  func follow(_ settings: borrowing TransferSettings) throws(CurlFailure) {
    guard let hop = exchange?.follow(after: easy.offset(CURLINFO_TOTAL_TIME_T)),
      let request = exchange?.request, let destination = exchange?.route.destination
    else { return }
    let hasLogin = settings.hasLogin(for: destination, of: request)
    switch hop {
    case .login(let login):
      if login == .probe {
        try renew(settings)
      } else if login == .digest(isFresh: true) {
        options.challenger = LoginMemory.origin(destination)
      }
      try options.set(login, on: easy)
      exchange?.send(login, hasLogin: hasLogin)
    case .redirect:
      exchange?.send(try loginStage(at: destination, hasLogin, settings), hasLogin: hasLogin)
    }
    try options.set(request, to: destination, settings, on: easy)
    try options.set(isFresh: false, on: easy)
    begin(request, to: destination)
  }

  /// Makes libcurl forget every challenge. Connections and cookies stay.
  private func renew(_ settings: borrowing TransferSettings) throws(CurlFailure) {
    let bufferSize = options.bufferSize
    easy.reset()
    options = TransferOptions()
    try configure(settings)
    try options.set(bufferSize: bufferSize, on: easy)
  }

  /// The next request of the exchange begins.
  private func begin(_ request: TransferRequest, to destination: Address) {
    errorBuffer[0] = 0
    assembler.reset()
    quiet = StallWatch.Quiet()
    isBehind = false
    answerWait = AnswerWait(after: request.waited)
    self.destination = destination
    request.meter?.enter(.lookingUp)
  }

  // MARK: Looking

  /// The file that it fills.
  var meter: TransferMeter? { exchange?.request.meter ?? exchange?.request.segmentOf }

  /// What libcurl knows of it, from the start of the current request on.
  var details: TransferDetails {
    var details = TransferDetails()
    let port = easy.long(CURLINFO_PRIMARY_PORT)
    if let address = easy.text(CURLINFO_PRIMARY_IP), !address.isEmpty, port > 0 {
      details.peer = address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
    details.httpVersion =
      switch easy.long(CURLINFO_HTTP_VERSION) {
      case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
      case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
      case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
      default: nil
      }
    details.isReused = easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0 && reusedConnection
    func time(_ info: CURLINFO) -> Duration? {
      let microseconds = easy.offset(info)
      return microseconds > 0 ? .microseconds(microseconds) : nil
    }
    if !details.isReused {
      details.lookedUp = time(CURLINFO_NAMELOOKUP_TIME_T)
      details.connected = time(CURLINFO_CONNECT_TIME_T)
      details.secured = time(CURLINFO_APPCONNECT_TIME_T)
    }
    details.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
    return details
  }

  // MARK: Waiting

  /// How long it has waited for the first answer of its connection, in nanoseconds, as counted by `passTime`; nil if it
  /// does not wait.
  var wait: UInt64? {
    guard answerWait.socket != nil, exchange?.isWaiting == true else { return nil }
    return answerWait.time
  }

  /// Whether its connection is not up, so that nothing was asked on it.
  var isUnsent: Bool { exchange != nil && easy.offset(CURLINFO_PRETRANSFER_TIME_T) == 0 }

  /// Adds time in which the loop was reading what had come.
  /// - Returns: whether it waits; false if there is something to read now.
  func passTime(_ nanoseconds: UInt64) -> Bool {
    guard let wait, let socket = answerWait.socket else { return false }
    // A short wait decides nothing, so thousands of them need not be asked about.
    if wait + nanoseconds >= OvertakenRule.leastWait, hasSomethingToRead(socket) { return false }
    answerWait.pass(nanoseconds)
    return true
  }

  /// Whether it uses a connection that has brought an answer.
  var isAnswered: Bool {
    guard let isWaiting = exchange?.isWaiting else { return false }
    return !isWaiting || answerWait.socket == nil && easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0
  }

  /// The time from the beginning of the connection, or of the request on a reused one, to the first byte of the answer,
  /// in nanoseconds. Valid once it has its answer.
  var answerTime: UInt64 {
    let begin = easy.offset(CURLINFO_NAMELOOKUP_TIME_T)
    return UInt64(max(0, easy.offset(CURLINFO_STARTTRANSFER_TIME_T) - begin)) * 1000
  }

  /// Whether it reused a connection. Valid once it has ended.
  var reusedConnection: Bool { easy.long(CURLINFO_NUM_CONNECTS) == 0 }

  /// - Parameter time: nanoseconds since the last check.
  func hasStalled(_ watch: StallWatch, after time: UInt64) -> Bool {
    // While there is no connection, CURLOPT_CONNECTTIMEOUT_MS applies and this time does not count. Nor does it while a
    // body is drained, which has a deadline of its own, or decoded, which takes no new byte.
    guard let bytes = exchange?.bodyBytes, drainDeadline == nil, !isBehind, easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0
    else {
      quiet = StallWatch.Quiet()
      return false
    }
    return quiet.look(Int64(assembler.size) + bytes, after: time) >= watch.limit
  }

  /// When the draining of its body ends, complete or not; nil if there is no deadline.
  var drainDeadline: UInt64? { exchange?.drainDeadline }

  /// It was held for so long: that does not count for its connection, which libcurl measures by the clock.
  /// - Parameter time: in nanoseconds.
  func wasHeld(for time: UInt64, _ settings: borrowing TransferSettings) {
    guard easy.offset(CURLINFO_PRETRANSFER_TIME_T) == 0 else { return }
    heldTime += Int(time / 1_000_000)
    do throws(CurlFailure) {
      try easy.set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout + heldTime)
    } catch {
      assertionFailure("CURLOPT_CONNECTTIMEOUT_MS takes any number: \(error.message)")
    }
  }

  // MARK: The end

  /// Judges how the transfer ended, and releases its sink unless it goes on.
  func finish(_ code: CURLcode) -> Finish {
    if exchange?.goesOn == true { return .goesOn }
    guard let exchange = exchange.take() else {
      return .ended(.failure(DownloadError(.transport, activity: "finishing")))
    }
    lastBody = exchange.received
    let address = exchange.request.address
    onTransfer?(times(of: exchange, hasFailed: code != CURLE_OK))
    do throws(DownloadError) {
      return .ended(.success(try exchange.receipt(code) { DownloadError(facts(code, exchange), address: address) }))
    } catch {
      // The whole run must know a failure of the proxy's login.
      if error.isProxyLogin { options.proxy?.refuse(error) }
      return .ended(.failure(error.at(address)))
    }
  }

  /// What libcurl knows of an exchange that ended, for a report.
  private func times(of exchange: borrowing Exchange, hasFailed: Bool) -> TransferTimes {
    let before = exchange.hopTime
    func time(_ info: CURLINFO) -> Duration? {
      let microseconds = easy.offset(info)
      return microseconds > 0 ? .microseconds(before + microseconds) : nil
    }
    var times = TransferTimes(
      address: exchange.request.address.key, begin: beganAt,
      end: .nanoseconds(Int64(clamping: monotonicNanoseconds() - beganAt)))
    times.connections = max(0, easy.long(CURLINFO_NUM_CONNECTS))
    if times.connections > 0 {
      times.lookedUp = time(CURLINFO_NAMELOOKUP_TIME_T)
      times.connected = time(CURLINFO_CONNECT_TIME_T)
      times.secured = time(CURLINFO_APPCONNECT_TIME_T)
    }
    times.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
    times.bytes = exchange.received
    times.requests = exchange.hops + 1
    times.status = exchange.framing?.status
    times.hasFailed = hasFailed || (times.status.map { $0 >= 400 } ?? true)
    times.isSegment = exchange.request.segmentOf != nil
    return times
  }

  private func facts(_ code: CURLcode, _ exchange: borrowing Exchange) -> TransferEnd {
    TransferEnd(
      code: code, message: String(cString: errorBuffer), errno: Int32(truncatingIfNeeded: easy.long(CURLINFO_OS_ERRNO)),
      isAnswered: exchange.framing != nil, reusedConnection: reusedConnection,
      shortage: TransferEnd.mayBeShortage(code) ? Self.shortage() : nil,
      proxy: options.proxy.map { proxy in
        ProxyEnd(
          address: proxy.address, connectStatus: easy.long(CURLINFO_HTTP_CONNECTCODE),
          offered: easy.long(CURLINFO_PROXYAUTH_AVAIL),
          error: CURLproxycode(UInt32(truncatingIfNeeded: easy.long(CURLINFO_PROXY_ERROR))),
          verifyResult: easy.long(CURLINFO_PROXY_SSL_VERIFYRESULT))
      })
  }

  /// Tests whether a descriptor can be opened now, because libcurl does not report what socket(2) or open(2) returned.
  private static func shortage() -> Int32? {
    let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 {
      close(descriptor)
      return nil
    }
    return DownloadError.isShortage(errno) ? errno : nil
  }

  /// Releases the sink of a transfer that is removed before its end.
  func abort(_ error: DownloadError) -> Result<TransferReceipt, DownloadError> {
    defer { exchange = nil }
    if let onTransfer, let exchange = exchange.take() {
      onTransfer(times(of: exchange, hasFailed: true))
      return .failure(error.at(exchange.request.address))
    }
    return .failure((exchange?.request.address).map(error.at) ?? error)
  }

  /// Asks the sink whether to keep the transfer, which was cancelled.
  /// - Returns: false if the transfer must be removed.
  func isKept(after reason: Cancellation.Reason) -> Bool {
    guard var completion, let sink = exchange?.sink, let address = exchange?.request.address else { return false }
    defer { self.completion = completion }
    return completion.isKept(
      by: sink, after: reason, on: loop, exchange?.framing == nil ? nil : answer(), DownloadError.cancelled.at(address))
  }

  private func answer() -> Completion.Answer {
    Completion.Answer(
      effectiveURL: exchange?.route.effectiveURL,
      delay: .microseconds((exchange?.hopTime ?? 0) + easy.offset(CURLINFO_STARTTRANSFER_TIME_T)))
  }

  // MARK: libcurl calls back

  fileprivate func didOpen(_ socket: Int32) {
    guard let host = exchange?.route.destination.hostAndPort else { return }
    loop.socketDidOpen(socket, for: host)
    exchange?.request.meter?.enter(.connecting)
    if answerWait.didOpen(socket) { group.change(host) { $0.ended() } }
  }

  fileprivate func willSendRequest() { exchange?.request.meter?.enter(.waiting) }

  /// - Returns: whether the transfer goes on.
  fileprivate func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    let goesOn: Bool
    switch assembler.take(line) {
    case .more: return true
    case .flood:
      return exchange?.fail(
        DownloadError(
          .badResponse, cause: .detail("more than \(HeadAssembler.limit / 1024) KiB of headers"),
          activity: "reading the answer")) == true
    case .redirect:
      let head = assembler.head
      serverDidAnswer(head)
      goesOn = exchange?.redirect(head, at: monotonicNanoseconds()) == true
    case .final:
      let head = assembler.head
      if passOver(head) { return true }
      serverDidAnswer(head)
      goesOn = (head.status == 401 ? answerChallenge(head) : nil) ?? judge(head)
    }
    if let deadline = exchange?.drainDeadline { loop.look(at: deadline) }
    return goesOn
  }

  /// After the proxy's own refusal of the login another answer may follow, if libcurl asks again with the login. Only
  /// if none follows is the refusal the end.
  /// - Returns: whether the answer was such a refusal.
  private func passOver(_ head: ResponseHead) -> Bool {
    guard let proxy = options.proxy?.address, let request = exchange?.request,
      let scheme = exchange?.route.destination.scheme,
      proxy.refusesLogin(head, to: scheme, port: easy.long(CURLINFO_PRIMARY_PORT))
    else { return false }
    assembler.expectAnother()
    let verdict = ProxyVerdict.login(offered: easy.long(CURLINFO_PROXYAUTH_AVAIL))
    exchange?.proxyDidRefuse(DownloadError(verdict, of: proxy, address: request.address))
    return true
  }

  /// Notes what an answer of the server shows about the proxy and about cookies.
  private func serverDidAnswer(_ head: ResponseHead) {
    if let proxy = options.proxy, let scheme = exchange?.route.destination.scheme,
      proxy.address.letsThrough(head.status, from: scheme)
    {
      proxy.letThrough(offered: easy.long(CURLINFO_PROXYAUTH_AVAIL))
    }
    if assembler.setsCookie { cookieJar?.serverDidSetOne() }
    exchange?.serverDidAnswer()
  }

  /// Handles a 401 that requires another kind of login than the request had.
  /// - Returns: whether the transfer goes on; nil if the answer must be judged.
  private func answerChallenge(_ head: ResponseHead) -> Bool? {
    guard exchange?.hasLogin == true, let login = exchange?.login, let destination = exchange?.route.destination,
      let next = logins.next(after: login, challenge: head["www-authenticate"], at: destination)
    else { return nil }
    return exchange?.askAgain(next, head, at: monotonicNanoseconds())
  }

  private func judge(_ head: ResponseHead) -> Bool {
    guard let sink = exchange?.sink else { return false }
    do throws(DownloadError) {
      let head = try exchange?.final(head) ?? head
      let disposition = try sink.accept(head)
      completion?.headArrived(isSplittable: disposition == .splittable, on: loop, answer())
      return try exchange?.take(disposition, of: head, at: monotonicNanoseconds()) == true
    } catch {
      return exchange?.fail(error) == true
    }
  }

  /// - Returns: how many bytes were taken. Any other number than all ends the transfer, but that for a pause: then they
  ///   come again when it goes on.
  fileprivate func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    if !isBehind { rateLimit?.received(bytes.count, at: monotonicNanoseconds()) }
    guard case .writing? = exchange?.phase, let sink = exchange?.sink else {
      return exchange?.dropped(bytes.count) == true ? bytes.count : 0
    }
    var goesOn = true
    do throws(DownloadError) {
      if let decoder = exchange?.decoder {
        isBehind = try !decode(bytes, decoder, into: sink)
        if isBehind { return Int(CURL_WRITEFUNC_PAUSE) }
      } else if try sink.write(bytes) == .enough {
        goesOn = exchange?.satisfied() == true
      }
      exchange?.delivered(bytes.count)
    } catch {
      goesOn = exchange?.fail(error) == true
    }
    return goesOn ? bytes.count : 0
  }

  /// - Returns: false if the rest of it must wait for the next turn of the loop.
  private func decode(
    _ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder, into sink: any ByteSink
  ) throws(DownloadError) -> Bool {
    // A decoded body has only one transfer, which wants all of it.
    let take = { (piece: UnsafeRawBufferPointer) throws(DownloadError) in _ = try sink.write(piece) }
    if try decoder.decode(bytes, in: loop.turns, take) { return true }
    // libcurl before 8.4 loses bytes of an HTTP/2 stream that was paused.
    if easy.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) {
      if try decoder.decode(bytes, in: loop.turns, atMost: ContentDecoder.trusted, take) { return true }
      throw ContentDecoder.bomb
    }
    loop.decodesOn()
    return false
  }
}

// File-level, because nested @convention(c) closures can crash Swift 6.3. The context is the transfer that set the
// callback; its type says why the pointer is valid.

private func curlDidReceiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  deliver(bytes, size * count, to: context) { $0.receiveHeader($1) ? $1.count : 0 }
}

private func curlDidReceiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  deliver(bytes, size * count, to: context) { $0.receiveBody($1) }
}

/// - Returns: the number of bytes, which tells libcurl to go on; or one that ends or pauses the transfer.
private func deliver(
  _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, to context: UnsafeMutableRawPointer?,
  _ receive: (CurlTransfer, UnsafeRawBufferPointer) -> Int
) -> Int {
  guard let context else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  return receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count))
}

private func curlDidOpenSocket(
  _ context: UnsafeMutableRawPointer?, _ socket: Int32, _ purpose: curlsocktype
) -> Int32 {
  // Without this flag, programs that this process starts would inherit the socket and hold the connection open.
  _ = fcntl(socket, F_SETFD, FD_CLOEXEC)  // cannot fail for a socket that was just made
  guard let context else { return CURL_SOCKOPT_OK }
  Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().didOpen(socket)
  return CURL_SOCKOPT_OK
}

private func curlWillSendRequest(
  _ context: UnsafeMutableRawPointer?, _ remoteAddress: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
  guard let context else { return CURL_PREREQFUNC_OK }
  Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue().willSendRequest()
  return CURL_PREREQFUNC_OK
}
