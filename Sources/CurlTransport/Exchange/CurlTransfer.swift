import CCurl
import DownloadModel
import Glibc

// Long because: libcurl calls back into one handle from its request to its verdict.

/// One easy handle and the transfer it currently runs; it is reused for the next transfer. It is confined to its loop's
/// thread. The pointer that libcurl holds is unretained; that is safe because the agent keeps every transfer alive
/// until it has left the multi handle, and its easy handle is cleaned up with it.
final class CurlTransfer {
  let easy: EasyHandle
  private let loop: CurlLoop
  private let settings: TransferSettings
  private let errorBuffer: UnsafeMutablePointer<CChar>
  /// The lines of the head that is arriving.
  private let lines: UnsafeMutablePointer<dlm_head>
  private var options = TransferOptions()
  private var assembler = HeadAssembler()
  private var lastBody: Int64?
  /// Extra milliseconds for the connect timeout, because the transfer was paused.
  private var heldTime = 0
  /// `nil` while idle.
  private var run: Run?

  private struct Run: ~Copyable {
    var exchange: Exchange
    var completion: Completion
    /// In nanoseconds; 0 without a report.
    let begin: UInt64
    var answerWait: AnswerWait
    var quiet = StallWatch.Quiet()
    var pace = Pace()
    /// Whether it is paused because its body expanded to more than one turn of the loop may decode.
    var isBehind = false
    var limiters: [RateLimiter] = []
    var limitsVersion = 0
    /// Bytes that these were paid for in advance, and the time until which it waits for that.
    var paid = 0
    var heldUntil: UInt64?
    /// A head that waits for the first bytes of its coded body, which show how it is coded (HTTP rule 35).
    var postponed: ResponseHead?
    var start: [UInt8] = []
    /// Whether the server sends no head, and what it said was not judged yet.
    var lacksHead = false
    /// For a folder of a file server.
    var listing: FolderListing?
    /// For an object of S3: the document of a refusal so far.
    var refusal: [UInt8]?
    /// For a folder of S3: the bytes of the current page, and the token that it continues.
    var page: [UInt8]?
    var token: String?
  }

  init(_ settings: TransferSettings, on loop: CurlLoop) throws(CurlFailure) {
    easy = try EasyHandle()
    self.loop = loop
    self.settings = settings
    errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    lines = .allocate(capacity: 1)
    lines.initialize(to: dlm_head())
    lines.pointee.limit = HeadAssembler.limit
    lines.pointee.take = curlDidReceiveHead
    lines.pointee.context = Unmanaged.passUnretained(self).toOpaque()
    try configure()
  }

  private func configure() throws(CurlFailure) {
    try settings.apply(to: easy)
    try easy.set(CURLOPT_ERRORBUFFER, pointer: errorBuffer)
    try easy.check(
      dlm_setopt_callbacks(
        easy.pointer, Unmanaged.passUnretained(self).toOpaque(), lines, curlDidReceiveBody, curlDidOpenSocket,
        curlWillSendRequest, curlWillCloseSocket, loop.callbackContext))
    try easy.check(
      dlm_setopt_host_key(easy.pointer, curlDidReceiveHostKey, Unmanaged.passUnretained(self).toOpaque()))
  }

  deinit {
    // The handle is cleaned up later, and must not refer to the buffer then (CURLOPT_ERRORBUFFER).
    do {
      try easy.set(CURLOPT_ERRORBUFFER, pointer: nil)
      if settings.options.cookieJar != nil { try easy.set(CURLOPT_SHARE, pointer: nil) }
    } catch {
      assertionFailure("CURLOPT_ERRORBUFFER and CURLOPT_SHARE take no pointer")
    }
    errorBuffer.deallocate()
    free(lines.pointee.bytes)
    lines.deallocate()
  }

  static func of(_ easy: UnsafeMutableRawPointer) -> CurlTransfer? {
    var context: UnsafeMutablePointer<CChar>?
    return dlm_getinfo_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK ? transfer(context) : nil
  }

  // MARK: Requests

  /// - Parameter running, connections: transfers and connections of the loop, this transfer included.
  func begin(
    _ request: TransferRequest, into sink: any ByteSink, _ completion: Completion, running: Int, connections: Int
  ) throws(CurlFailure) {
    var exchange = Exchange(request, sink)
    exchange.login = try firstLogin(request, at: request.address)
    try options.set(request, to: request.address, isProbe: exchange.isProbe, settings, on: easy)
    // If every connection has a transfer, libcurl need not search thousands for an idle one.
    try use(freshConnection: !settings.options.usesHTTP2 && connections < running)
    let limiters = settings.options.limits.limiters(of: request.address)
    try options.set(
      bufferSize: limiters.compactMap(\.bufferSize).min()
        ?? ReceiveBuffer.size(
          running: running, lastBody: lastBody, scheme: request.address.scheme,
          isShared: settings.mayShareConnections(to: request.address)), on: easy)
    if heldTime > 0 {
      heldTime = 0
      try easy.set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout)
    }
    run = Run(
      exchange: consume exchange, completion: completion,
      begin: settings.options.onTransfer == nil ? 0 : CurlLoop.now,
      answerWait: AnswerWait(after: request.waited))
    run?.limiters = limiters
    run?.limitsVersion = settings.options.limits.version
    expectAnswer()
  }

  private func expectAnswer() {
    errorBuffer[0] = 0
    lines.pointee.count = 0
    assembler.reset()
    let lacksHead = run?.exchange.isFileServers == true
    lines.pointee.isEndless = lacksHead
    run?.lacksHead = lacksHead
    if lacksHead { loop.endsConnections = true }
    run?.exchange.request.meter?.enter(.lookingUp)
  }

  private func firstLogin(_ request: TransferRequest, at address: Address) throws(CurlFailure) -> LoginStage? {
    let hasLogin = address.scheme.isHTTP && settings.hasLogin(for: address, of: request)
    let stage = hasLogin ? settings.logins.stage(at: address, challenger: options.challenger) : nil
    // The handle keeps the challenge of another origin.
    if stage == .probe, options.challenger != nil { try renew() }
    try easy.set(CURLOPT_HTTPAUTH, stage?.schemes ?? dlm_auth_basic)
    return stage
  }

  /// Must be called before the transfer starts.
  func use(freshConnection isFresh: Bool) throws(CurlFailure) { try easy.set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0) }

  /// Must be called before the transfer starts. The addresses apply to all transfers of the loop, as long as libcurl
  /// caches the name.
  func take(_ detours: [String]) throws(CurlFailure) { try options.set(HeaderLines(detours), on: easy) }

  func follow() throws(CurlFailure) {
    guard let hop = run?.exchange.follow(after: easy.offset(CURLINFO_TOTAL_TIME_T)),
      let request = run?.exchange.request, let destination = place
    else { return }
    switch hop {
    case .login(let login):
      if login == .probe {
        try renew()
      } else if login == .digest(isFresh: true) {
        options.challenger = LoginMemory.origin(destination)
      }
      try easy.set(CURLOPT_HTTPAUTH, login.schemes)
      run?.exchange.login = login
    case .redirect: run?.exchange.login = try firstLogin(request, at: destination)
    case .reconnection, .body: break
    }
    try options.set(
      request, to: destination, isProbe: run?.exchange.isProbe == true, page: run?.token, settings, on: easy)
    try use(freshConnection: false)
    run?.answerWait = AnswerWait(after: request.waited, isTrial: false)
    run?.quiet = StallWatch.Quiet()
    run?.isBehind = false
    run?.limiters = settings.options.limits.limiters(of: destination)
    expectAnswer()
  }

  /// Makes libcurl forget every challenge. Connections and cookies stay.
  private func renew() throws(CurlFailure) {
    let bufferSize = options.bufferSize
    easy.reset()
    options = TransferOptions()
    try configure()
    try options.set(bufferSize: bufferSize, on: easy)
  }

  // MARK: State

  var isRunning: Bool { run != nil }

  var id: TransferID? { run?.completion.id }

  /// The host of the current request; `nil` while idle.
  var host: String? { place?.hostAndPort }

  /// Whether that is the host under which the queue knows the request, and not the target of a redirect: knowledge
  /// about the second must not become the first one's limit.
  var isAtHome: Bool {
    run?.exchange.request.address.hostAndPort == host
  }

  var place: Address? { run?.exchange.destination }

  var isFurther: Bool {
    run?.exchange.request.segmentOf != nil
  }

  var meter: TransferMeter? { run?.exchange.request.file }

  var answerWait: AnswerWait { run?.answerWait ?? AnswerWait() }

  /// Nanoseconds that it has waited for the first answer of its connection; `nil` if it does not wait.
  var wait: UInt64? {
    guard let wait = run?.answerWait, wait.socket != nil, run?.exchange.isWaiting == true else { return nil }
    return wait.time
  }

  /// Whether the host has not accepted the connection that was opened for it, so that no request was sent on it.
  var isUnaccepted: Bool {
    guard let socket = answerWait.socket, easy.offset(CURLINFO_CONNECT_TIME_T) == 0 else { return false }
    return !isUp(socket)
  }

  /// - Returns: whether the time counts as waiting; false if there are bytes to read now.
  func passTime(_ nanoseconds: UInt64) -> Bool {
    guard let wait, let socket = answerWait.socket else { return false }
    // A short wait decides nothing, so thousands of sockets need no check.
    if wait + nanoseconds >= HostHealth.leastWait, hasSomethingToRead(socket) { return false }
    run?.answerWait.time += nanoseconds
    return true
  }

  /// Whether it uses a connection that has delivered an answer.
  var isAnswered: Bool {
    guard let isWaiting = run?.exchange.isWaiting else { return false }
    return !isWaiting || answerWait.socket == nil && easy.isConnected
  }

  /// From the start of the connection, or of the request on a reused one, to the answer. Valid after the answer.
  var answerTime: UInt64 { time(of: CURLINFO_STARTTRANSFER_TIME_T) }
  var connectTime: UInt64 { time(of: CURLINFO_CONNECT_TIME_T) }

  private func time(of end: CURLINFO) -> UInt64 {
    UInt64(max(0, easy.offset(end) - easy.offset(CURLINFO_NAMELOOKUP_TIME_T))) * 1000
  }

  /// - Returns: `nil` unless it has stalled, or is too slow.
  func slowness(_ watch: StallWatch, after time: UInt64) -> DownloadError? {
    // CURLOPT_CONNECTTIMEOUT_MS applies until there is a connection. Draining a body, which has a deadline of its own,
    // and decoding, which reads no new bytes, do not count, either.
    // Of an FTP server libcurl measures the connection only when its data come.
    let isConnected = easy.isConnected || lines.pointee.isEndless && lines.pointee.count > 0
    guard let bytes = run?.exchange.bodyBytes, drainDeadline == nil, !isBehind, isConnected else {
      run?.quiet = StallWatch.Quiet()
      return nil
    }
    // While a limit holds it back, no time passes for it.
    let time = run?.heldUntil == nil ? time : 0
    let arrived = Int64(lines.pointee.count + assembler.size) + bytes
    if run?.quiet.look(arrived, after: time) ?? 0 >= watch.limit { return watch.failure }
    // From the second check on, so that short transfers cost nothing.
    if gain != nil { do { try run?.exchange.sink.save() } catch { return error } }
    guard let least = settings.options.leastRate, run?.exchange.isWaiting == false else { return nil }
    let position = meter?.position ?? bytes
    return run?.pace.look(position, after: time, least: least, over: settings.options.rateWindow)
  }

  /// Bytes received between the last two checks; `nil` unless it received its body during all of that time.
  var gain: Int64? { run?.exchange.phase == .writing ? run?.quiet.gain : nil }

  /// Whether another request can continue it: nothing arrived, or the server offers ranges of the stored bytes.
  var mayBeContinued: Bool {
    guard run?.exchange.phase == .writing, run?.exchange.decoder == nil else {
      return run?.exchange.isWaiting == true
    }
    let head = assembler.head
    // Another request may be redirected elsewhere: only a strong tag shows whether the bytes are the same.
    if run?.exchange.effectiveURL != nil, Validator(head).strongETag == nil { return false }
    return head.status == 206 || head["accept-ranges"]?.lowercased() == "bytes"
  }

  /// Whether libcurl may neither watch its sockets nor set a timer (`CurlLoop.actOnAll`): during the handshake of an
  /// FTPS data connection, and if the reply to EPSV arrives while the command is being sent. Then the data connection
  /// was opened only when the connect timeout ended the transfer.
  var isOverlooked: Bool { run?.lacksHead == true && place?.scheme.isFTP == true }

  var drainDeadline: UInt64? { run?.exchange.drainDeadline }

  /// Records a pause in nanoseconds, which must not count for its connection. libcurl measures by the clock, so the
  /// timeout grows.
  func wasHeld(for time: UInt64) {
    if easy.isConnected { return }
    heldTime += Int(time / 1_000_000)
    do {
      try easy.set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeout + heldTime)
    } catch {
      assertionFailure("CURLOPT_CONNECTTIMEOUT_MS takes any number: \(error.message)")
    }
  }

  var isBehind: Bool { run?.isBehind == true }

  /// Whether it has waited long enough for its limit, or the limits were changed meanwhile.
  func isDue(at now: UInt64) -> Bool {
    guard let end = run?.heldUntil else { return false }
    return end <= now || run?.limitsVersion != settings.options.limits.version
  }

  /// When it must be looked at again; while it waits for its limit, at least every second.
  func deadline(at now: UInt64) -> UInt64? {
    drainDeadline ?? run?.heldUntil.map { min($0, now + 1_000_000_000) }
  }

  var isLimited: Bool { run?.limiters.isEmpty == false }

  /// Continues a paused transfer.
  func goOn() -> CURLcode {
    run?.heldUntil = nil
    return easy.goOn()
  }

  // MARK: The end

  /// Whether it has the whole file of a server that does not end its transfer.
  var hasWholeFile: Bool { run?.exchange.hasWholeFile == true }

  var goesOn: Bool { run?.exchange.goesOn == true }

  /// Repeats the request over another kind of connection, if that may help.
  /// - Returns: whether it is repeated.
  func reconnects(after code: CURLcode) -> Bool {
    guard code != CURLE_OK, run?.exchange.isWaiting == true, let destination = place,
      let way = TransferEnd(code, "", of: easy, isAnswered: false).remedy, !options.way.contains(way)
    else { return false }
    settings.ways[destination.hostAndPort, default: []].insert(way)
    run?.exchange.reconnect()
    return true
  }

  /// libcurl has finished the request: what a server without heads said is judged now if it sent no body.
  func requestDidEnd(_ code: CURLcode) {
    // The server's file is shorter than the part.
    if code == CURLE_BAD_DOWNLOAD_RESUME, run?.lacksHead == true { _ = judgeReplies(isShort: true) }
    guard code == CURLE_OK else { return }
    if run?.lacksHead == true { _ = judgeReplies() }
    do throws(DownloadError) {
      if let last = try run?.listing?.end(), !last.isEmpty { try write(links: last) }
      if let page = run?.page, let place { try endPage(S3Answer.page(page, of: place)) }
    } catch { _ = run?.exchange.fail(error) }
  }

  func result(_ code: CURLcode) -> Result<TransferReceipt, DownloadError> {
    guard let address = run?.exchange.request.address else { return .failure(.cancelled) }
    if code == CURLE_OK, run?.postponed != nil { _ = settle([]) }
    lastBody = run?.exchange.received
    if let refusal = run?.refusal { return result(S3Answer.refusal(assembler.head.status, refusal)) }
    do {
      let receipt = try run?.exchange.receipt(code) {
        if place?.scheme.isFTP == true, let failure = replies.failure(code) { return failure }
        return TransferEnd(code, String(cString: errorBuffer), of: easy, isAnswered: run?.exchange.framing != nil)
          .error(at: address, through: options.proxy?.address)
      }
      // A transfer that was stopped because its sink has enough has not failed.
      report(hasFailed: false)
      return receipt.map { .success($0) } ?? .failure(.cancelled)
    } catch {
      report(hasFailed: true)
      // A failed proxy login stops every later transfer of the run.
      if error.isProxyLogin { options.proxy?.refuse(error) }
      return .failure(error.at(address))
    }
  }

  func result(_ error: DownloadError) -> Result<TransferReceipt, DownloadError> {
    report(hasFailed: true)
    if error.isExpiredLogin { settings.options.storage.expire() }
    return .failure((run?.exchange.request.address).map(error.at) ?? error)
  }

  /// Releases its sink. It is idle from here on; returns `nil` if it was idle before.
  @discardableResult
  func release() -> Completion? {
    defer { run = nil }
    return run?.completion
  }

  private func report(hasFailed: Bool) {
    guard let onTransfer = settings.options.onTransfer, let begin = run?.begin, let request = run?.exchange.request
    else { return }
    let before = run?.exchange.hopTime ?? 0
    var times = TransferTimes(
      address: request.address.key, begin: begin, end: .nanoseconds(Int64(clamping: CurlLoop.now - begin)))
    times.connections = max(0, easy.long(CURLINFO_NUM_CONNECTS))
    if times.connections > 0 {
      times.lookedUp = easy.time(CURLINFO_NAMELOOKUP_TIME_T, after: before)
      times.connected = easy.time(CURLINFO_CONNECT_TIME_T, after: before)
      times.secured = easy.time(CURLINFO_APPCONNECT_TIME_T, after: before)
    }
    times.firstByte = easy.time(CURLINFO_STARTTRANSFER_TIME_T, after: before)
    times.bytes = run?.exchange.received ?? 0
    times.requests = (run?.exchange.hops ?? 0) + 1
    times.status = run?.exchange.framing?.status
    times.hasFailed = hasFailed || (times.status.map { $0 >= 400 } ?? true)
    times.isSegment = request.segmentOf != nil
    onTransfer(times)
  }

  func tell(_ news: HostNews) { run?.exchange.request.onNews?(news) }

  /// - Returns: whether the sink keeps the cancelled transfer; if not, it must be removed.
  func isKept(after reason: Cancellation.Reason) -> Bool {
    guard let sink = run?.exchange.sink, let address = run?.exchange.request.address else { return false }
    let answer = run?.exchange.framing == nil ? nil : answer()
    let error = DownloadError.cancelled.at(address)
    return run?.completion.isKept(by: sink, after: reason, on: loop, answer, error) == true
  }

  private func answer() -> RunningTransfer.Answer {
    let time = (run?.exchange.hopTime ?? 0) + easy.offset(CURLINFO_STARTTRANSFER_TIME_T)
    return (run?.exchange.effectiveURL, .microseconds(time))
  }

  // MARK: Callbacks of libcurl. A returned Bool says whether the transfer continues.

  fileprivate func didOpen(_ socket: Int32) {
    // After the first reply of an FTP server, it is the connection for the data of one file.
    guard let host, !lines.pointee.isEndless || lines.pointee.count == 0 else { return }
    loop.socketDidOpen(socket, for: host, room: run?.limiters.compactMap(\.receiveBuffer).min())
    run?.exchange.request.meter?.enter(.connecting)
    if lines.pointee.isEndless { return }
    if run?.answerWait.didOpen(socket) == true { settings.options.group.change(host) { $0.ended() } }
  }

  fileprivate func willSendRequest() { run?.exchange.request.meter?.enter(.waiting) }

  fileprivate func receiveHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let goesOn: Bool
    switch lines.pointee.isEndless ? .flood : assembler.take(bytes) {
    case .more: return true
    case .flood:
      let detail = "more than \(HeadAssembler.limit / 1024) KiB of headers"
      return run?.exchange.fail(DownloadError(.badResponse, detail, "reading the answer")) == true
    case .redirect:
      let head = assembler.head
      serverDidAnswer(head)
      goesOn =
        storageDidAnswer(head)
        ?? (run?.exchange.redirect(head, atMost: settings.options.mostRedirects, at: CurlLoop.now) == true)
    case .final:
      let head = assembler.head
      if passOver(head) { return true }
      serverDidAnswer(head)
      if head.isWhole, case .known = head.bodyCoding {
        run?.exchange.beginBody()
        run?.postponed = head
        return true
      }
      goesOn = storageDidAnswer(head) ?? (head.status == 401 ? answerChallenge(head) : nil) ?? judge(head)
    }
    if let deadline = drainDeadline { loop.timers.look(at: deadline) }
    return goesOn
  }

  /// After the proxy's own refusal, libcurl may repeat the request with the login. The refusal is final only if no
  /// other answer follows.
  /// - Returns: whether the answer was such a refusal.
  private func passOver(_ head: ResponseHead) -> Bool {
    guard let proxy = options.proxy?.address, let request = run?.exchange.request,
      let scheme = place?.scheme,
      proxy.refusesLogin(head, to: scheme, port: easy.long(CURLINFO_PRIMARY_PORT))
    else { return false }
    assembler.expectAnother()
    let verdict = ProxyVerdict.login(offered: easy.long(CURLINFO_PROXYAUTH_AVAIL))
    run?.exchange.proxyDidRefuse(DownloadError(verdict, of: proxy, address: request.address))
    return true
  }

  private func serverDidAnswer(_ head: ResponseHead) {
    if let proxy = options.proxy, let scheme = place?.scheme,
      proxy.address.letsThrough(head.status, from: scheme)
    {
      proxy.letThrough(offered: easy.long(CURLINFO_PROXYAUTH_AVAIL))
    }
    // An answer after a redirect describes another host.
    if run?.exchange.effectiveURL == nil { tell(.answered(head.allowance)) }
    if head["set-cookie"] != nil { settings.options.cookieJar?.serverDidSetOne() }
    run?.exchange.serverDidAnswer()
  }

  /// - Returns: `nil` if the 401 is final, so that it must be judged.
  private func answerChallenge(_ head: ResponseHead) -> Bool? {
    guard let login = run?.exchange.login, let destination = place,
      let next = settings.logins.next(after: login, challenge: head["www-authenticate"], at: destination)
    else { return nil }
    return run?.exchange.askAgain(next, head, at: CurlLoop.now)
  }

  /// Whether the answered request carried a login.
  private var sentLogin: Bool {
    if let login = run?.exchange.login { return login != .probe }
    guard let request = run?.exchange.request, let place else { return false }
    return settings.showsLogin(for: place, of: request)
  }

  private func judge(_ head: ResponseHead) -> Bool {
    guard let sink = run?.exchange.sink, var completion = run?.completion else { return false }
    do {
      var head = try run?.exchange.final(head, throttling: settings.options.retryOn) ?? head
      if head.status == 401 { head.sentLogin = sentLogin }
      let disposition = try sink.accept(head)
      // On a copy, because `answer` reads the other properties.
      completion.headArrived(isSplittable: disposition == .splittable, on: loop, answer())
      run?.completion = completion
      // A reused connection keeps its buffer size.
      if let room = ReceiveBuffer.room(for: options.bufferSize, bodyOf: run?.exchange.framing?.length),
        let socket = run?.answerWait.socket, !isLimited
      {
        loop.makeRoom(room, for: socket)
      }
      return try run?.exchange.take(disposition, of: head, at: CurlLoop.now) == true
    } catch {
      return run?.exchange.fail(error) == true
    }
  }

  private var replies: FTPReplies {
    FTPReplies(UnsafeRawBufferPointer(start: lines.pointee.bytes, count: lines.pointee.count))
  }

  /// Judges what a server without heads said, before its first byte or at the end of an empty file.
  private func judgeReplies(isShort: Bool = false) -> Bool {
    guard let request = run?.exchange.request, let isProbe = run?.exchange.isProbe, let place else { return false }
    run?.lacksHead = false
    do { try options.expectLastReply(on: easy) } catch { return run?.exchange.fail(error.error()) == true }
    let seconds = easy.offset(CURLINFO_FILETIME_T)
    let modified = seconds > 0 ? seconds : nil
    var answer = FileServerAnswer(modified: modified, start: place.scheme == .scp ? nil : request.rangeStart)
    if place.scheme.isFTP {
      answer = replies.answer(from: request.rangeStart, isRetrieved: !options.hasNoBody, modified: modified)
    } else if !isShort {
      // libcurl knows no length of an empty file.
      answer.size = max(0, easy.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)) + (answer.start ?? 0)
    }
    if place.isServerFolder {
      answer = FileServerAnswer(contentType: FolderListing.contentType)
      run?.listing = FolderListing()
    }
    let isUnchanged = isProbe && answer.isUnchanged(request.headerLines)
    if isProbe, !isUnchanged {
      run?.exchange.requestBody()
      return true
    }
    let head = answer.head(isUnchanged: isUnchanged)
    assembler.take(head)
    serverDidAnswer(head)
    return judge(head)
  }

  private func write(links: [UInt8]) throws(DownloadError) {
    guard run?.exchange.phase == .writing, let sink = run?.exchange.sink else { return }
    try links.withUnsafeBytes { bytes in Result { () throws(DownloadError) in _ = try sink.write(bytes) } }.get()
  }

  /// - Returns: how many bytes were accepted. Fewer end the transfer; after a pause libcurl passes the same bytes
  ///   again.
  fileprivate func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    if run?.lacksHead == true {
      // Without a body libcurl passes lines of its own, such as Last-Modified.
      if options.hasNoBody { return bytes.count }
      guard judgeReplies() else { return 0 }
    }
    if mustWait(for: bytes.count) { return Int(CURL_WRITEFUNC_PAUSE) }
    run?.isBehind = false
    if let paid = run?.paid, paid > 0 { run?.paid = max(0, paid - bytes.count) }
    guard let start = run?.start, run?.postponed != nil else { return write(bytes) }
    if start.count + bytes.count < ResponseHead.SeenCoding.enough {
      run?.start = start + bytes
      return bytes.count
    }
    return settle(Array(bytes.prefix(ResponseHead.SeenCoding.enough))) ? write(bytes) : 0
  }

  /// Judges a postponed head by the first bytes of its body, and writes the bytes that were kept.
  /// - Parameter next: the bytes after those, which are not written here.
  /// - Returns: whether the transfer continues.
  private func settle(_ next: [UInt8]) -> Bool {
    guard var head = run?.postponed, let start = run?.start, case .known(let codings) = head.bodyCoding else {
      return false
    }
    run?.postponed = nil
    run?.start = []
    do {
      if let coding = codings.last { head.seenCoding = try ResponseHead.SeenCoding(coding, of: start + next) }
    } catch { return run?.exchange.fail(error) == true }
    return judge(head) && start.withUnsafeBytes { write($0, mayPause: false) } == start.count
  }

  private func write(_ bytes: UnsafeRawBufferPointer, mayPause: Bool = true) -> Int {
    guard run?.exchange.phase == .writing, let sink = run?.exchange.sink else {
      if let count = run?.refusal?.count { run?.refusal?.append(contentsOf: bytes.prefix(S3Answer.longest - count)) }
      return run?.exchange.dropped(bytes.count) == true ? bytes.count : 0
    }
    var goesOn = true
    do {
      if let decoder = run?.exchange.decoder {
        let isBehind = try !decode(bytes, decoder, into: sink, mayPause: mayPause && !losesPausedBytes)
        run?.isBehind = isBehind
        if isBehind { return Int(CURL_WRITEFUNC_PAUSE) }
      } else if run?.page != nil {
        try keep(page: bytes)
      } else if let links = try run?.listing?.take(bytes) {
        try write(links: links)
      } else if try sink.write(bytes) == .enough {
        goesOn = run?.exchange.satisfied() == true
      }
      run?.exchange.delivered(bytes.count)
    } catch {
      goesOn = run?.exchange.fail(error) == true
    }
    return goesOn ? bytes.count : 0
  }

  /// Pays for bytes before they are used.
  /// - Returns: whether these bytes must be passed again later.
  private func mustWait(for count: Int) -> Bool {
    let limits = settings.options.limits
    if run?.limitsVersion != limits.version, let place {
      run?.limitsVersion = limits.version
      run?.limiters = limits.limiters(of: place)
    }
    guard let limiters = run?.limiters, !limiters.isEmpty, let paid = run?.paid, paid < count, !isBehind,
      run?.exchange.phase == .writing
    else { return false }
    let now = CurlLoop.now
    let start = limiters.map { $0.pay(for: count - paid, at: now) }.max() ?? now
    run?.paid = count
    if start <= now || losesPausedBytes { return false }
    run?.heldUntil = start
    if let deadline = deadline(at: now) { loop.timers.look(at: deadline) }
    return true
  }

  /// libcurl before 8.4 loses bytes of a paused HTTP/2 stream.
  private var losesPausedBytes: Bool { easy.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) }

  /// - Returns: false if the rest must wait for the next turn of the loop.
  private func decode(
    _ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder, into sink: any ByteSink, mayPause: Bool
  ) throws(DownloadError) -> Bool {
    // A decoded body has only one transfer, which needs all of it.
    let take = { (piece: UnsafeRawBufferPointer) throws(DownloadError) in _ = try sink.write(piece) }
    if try decoder.decode(bytes, in: loop.turns, take) { return true }
    if !mayPause {
      if try decoder.decode(bytes, in: loop.turns, atMost: ContentDecoder.trusted, take) { return true }
      throw ContentDecoder.bomb
    }
    loop.isBehind = true
    return false
  }
}

// MARK: Storage that speaks S3

extension CurlTransfer {
  /// - Returns: `nil` for an answer that is judged like any other.
  private func storageDidAnswer(_ head: ResponseHead) -> Bool? {
    guard options.isStored, let place else { return nil }
    if head.status >= 300, let region = head["x-amz-bucket-region"], run?.exchange.hops ?? 0 < Self.mostRegions,
      settings.options.storage.learn(region, of: place)
    {
      return run?.exchange.askElsewhere(head, at: CurlLoop.now)
    }
    if head.status == 400 || head.status == 403 {
      run?.refusal = []
      return run?.exchange.readRefusal(head, at: CurlLoop.now)
    }
    guard place.isServerFolder, head.status == 200 else { return nil }
    run?.page = []
    if run?.token == nil { return judge(FileServerAnswer(contentType: FolderListing.contentType).head()) }
    run?.exchange.beginBody()
    return true
  }

  private func keep(page bytes: UnsafeRawBufferPointer) throws(DownloadError) {
    guard let count = run?.page?.count, count + bytes.count <= S3Answer.longestPage else { throw S3Answer.endless }
    run?.page?.append(contentsOf: bytes)
  }

  /// Pages of a thousand keys.
  private static let mostPages = 10_000
  private static let mostRegions = 3

  /// Passes the links of a page on, and asks for the next one.
  private func endPage(_ page: S3Answer.Page) throws(DownloadError) {
    run?.page = nil
    if !page.links.isEmpty { try write(links: page.links) }
    guard let next = page.next, next != run?.token else { return }
    guard run?.exchange.hops ?? 0 < Self.mostPages else { throw S3Answer.endless }
    run?.token = next
    run?.exchange.reconnect()
  }
}

extension CurlTransfer {
  /// - Returns: whether the server's key is known; if not, the transfer fails.
  fileprivate func accepts(hostKey key: UnsafeRawBufferPointer) -> Bool {
    guard let place, let failure = settings.options.ssh.failure(of: Array(key), at: place) else { return true }
    return run?.exchange.fail(failure) == true
  }
}

// File-level, because nested @convention(c) closures can crash Swift 6.3. The context is the transfer that set the
// callback; its type says why the pointer is valid.

private func curlDidReceiveHead(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  transfer(context)?.receiveHead(UnsafeRawBufferPointer(start: bytes, count: size * count)) == true ? size * count : 0
}

private func curlDidReceiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  transfer(context)?.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

private func curlDidReceiveHostKey(
  _ context: UnsafeMutableRawPointer?, _ type: Int32, _ key: UnsafePointer<CChar>?, _ length: Int
) -> Int32 {
  let bytes = UnsafeRawBufferPointer(start: key, count: length)
  let isAccepted = transfer(context)?.accepts(hostKey: bytes) == true
  return Int32((isAccepted ? CURLKHMATCH_OK : CURLKHMATCH_MISMATCH).rawValue)
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
  context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

private func curlDidOpenSocket(_ context: UnsafeMutableRawPointer?, _ socket: Int32, _ purpose: curlsocktype) -> Int32 {
  // Without this flag, child processes would inherit the socket and keep the connection open.
  _ = fcntl(socket, F_SETFD, FD_CLOEXEC)  // cannot fail for a new socket
  if SpareDescriptors.include(socket) { return CURL_SOCKOPT_ERROR }
  transfer(context)?.didOpen(socket)
  return CURL_SOCKOPT_OK
}

private func curlWillSendRequest(
  _ context: UnsafeMutableRawPointer?, _ remoteAddress: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
  transfer(context)?.willSendRequest()
  return CURL_PREREQFUNC_OK
}
