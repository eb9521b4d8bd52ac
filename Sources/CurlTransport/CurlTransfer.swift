// Long because: one transfer, from its request over its redirects to its verdict; cut, its state would lie open.

import CCurl
import DownloadModel
import Glibc

/// One easy handle and the transfer that it carries at the moment; kept and used again for the next.
///
/// It lives on its loop's thread: the agent starts and ends it there, and libcurl calls back there. The pointer
/// that libcurl holds is unretained, which is safe because the agent keeps every transfer alive until it has left
/// the multi handle; its easy handle is cleaned up with it.
final class CurlTransfer {
  /// A short body of an answer that is not wanted is read to its end, so that its connection can be kept; a
  /// longer one costs more than a new connection.
  static let drainLimit: Int64 = 64 * 1024
  /// The same in nanoseconds: a short body follows its head at once, and one that does not come is waited for no longer
  /// (http.md 33).
  static let drainTime: UInt64 = 250_000_000

  let easy: EasyHandle
  private let rateLimit: RateLimit?
  private let cookieJar: CookieJar?
  private let logins: LoginMemory
  private let loopContext: UnsafeMutableRawPointer
  let cancelOnLoop: (TransferID) -> @Sendable () -> Void
  private let onDrain: (UInt64) -> Void
  private let onOpen: (Int32, String, _ wasTrial: Bool) -> Void
  /// Nil while idle.
  var asker: Asker?
  private let errorBuffer: UnsafeMutablePointer<CChar>
  private(set) var options = TransferOptions()
  private var lastBody: Int64?
  /// The origin whose Digest challenge libcurl keeps in the easy handle.
  private var challenger: String?
  private(set) var current: Current?
  var assembler = HeadAssembler()
  var quiet = StallWatch.Quiet()
  /// Where it goes, or went last.
  private(set) var place: Address?
  /// How long its request was left unanswered before (`TransferRequest.waited`), in nanoseconds.
  private(set) var waitedBefore: UInt64?
  /// It was given back unanswered, and is asked again over a connection that is there.
  private(set) var isTrial = false
  /// Of the connection that was opened for it; nil while it has none, or one that was there.
  private var socket: Int32?
  private var waited: UInt64 = 0

  struct Current {
    let request: TransferRequest
    let sink: any BodySink
    /// Where it goes now: the request's own address, or where redirects led.
    var place: Address
    /// Where the answer that is being drained leads.
    var next: Address?
    /// How the request shows its login.
    var login = LoginStage.basic
    /// How it shows it next, to the same server, which was not content.
    var nextLogin: LoginStage?
    /// Whether there is a login for where it goes.
    var hasLogin = false
    /// Redirects followed, and the microseconds that they took.
    var hops = 0
    var hopTime: Int64 = 0
    var mode = Mode.waiting
    /// Body bytes for the sink, as they came.
    var received: Int64 = 0
    /// Where the sink wants the body without its content codings.
    var decoder: ContentDecoder?
    var drained: Int64 = 0
    var head: HeadFacts?
    var failure: DownloadError?
    /// What the proxy's last answer means, unless libcurl asks once more with the login.
    var refusal: DownloadError?
    /// When draining ends, whatever has come; on the monotonic clock.
    var drainsUntil: UInt64?

    var address: Address { request.address }

    init(_ request: TransferRequest, _ sink: any BodySink) {
      self.request = request
      self.sink = sink
      place = request.address
    }
  }

  /// What becomes of a transfer that libcurl is done with.
  enum Finish {
    case ended(Result<TransferReceipt, DownloadError>)
    /// It goes on elsewhere: see `follow`.
    case redirected
  }

  enum Mode { case waiting, writing, draining }

  /// What is kept of the head once the sink has judged it.
  struct HeadFacts {
    var status: Int
    var contentLength: Int64?
    var isChunked: Bool
  }

  /// - Parameters:
  ///   - cancel: how a transfer is cancelled from any thread.
  ///   - onDrain: told when a body begins to be drained, and until when.
  ///   - onOpen: told of each socket that is opened, for which host, and whether a trial ends with that.
  init(
    _ settings: borrowing TransferSettings, _ logins: LoginMemory, loopContext: UnsafeMutableRawPointer,
    cancel: @escaping (TransferID) -> @Sendable () -> Void, onDrain: @escaping (UInt64) -> Void,
    onOpen: @escaping (Int32, String, _ wasTrial: Bool) -> Void
  ) throws(CurlFailure) {
    easy = try EasyHandle()
    cancelOnLoop = cancel
    self.onDrain = onDrain
    self.onOpen = onOpen
    rateLimit = settings.rateLimit
    cookieJar = settings.cookieJar
    self.logins = logins
    self.loopContext = loopContext
    errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try configure(settings)
  }

  /// Sets what holds for every transfer.
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
    try easy.setCloseCallback(curlWillCloseSocket)
    try easy.set(CURLOPT_CLOSESOCKETDATA, pointer: loopContext)
  }

  deinit {
    // The handle is cleaned up after this, and must not know the buffer any more (CURLOPT_ERRORBUFFER).
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

  /// - Parameters:
  ///   - running: the transfers of the loop, this one included.
  ///   - connections: those of the loop that are open.
  func prepare(
    _ request: TransferRequest, into sink: any BodySink, _ settings: borrowing TransferSettings, running: Int,
    connections: Int
  ) throws(CurlFailure) {
    try options.set(request, to: request.address, settings, on: easy)
    // Where each connection has its transfer, libcurl need not look through thousands for one that is idle.
    try options.set(isFresh: !settings.sharesConnections && connections < running, on: easy)
    try options.set(
      bufferSize: rateLimit?.bufferSize ?? ReceiveBuffer.size(running: running, lastBody: lastBody), on: easy)
    var current = Current(request, sink)
    try set(logins.stage(at: request.address, challenger: challenger), &current, settings)
    begin(current)
  }

  private func set(
    _ login: LoginStage, _ current: inout Current, _ settings: borrowing TransferSettings
  ) throws(CurlFailure) {
    try options.set(login, on: easy)
    current.login = login
    current.hasLogin = settings.hasLogin(for: current.place, of: current.request)
  }

  /// Sends the request on to where its answer led, or once more with another kind of login. It may find the connection
  /// that it just had.
  func follow(_ settings: borrowing TransferSettings) throws(CurlFailure) {
    guard var current, let next = current.next else { return }
    current.hopTime += easy.offset(CURLINFO_TOTAL_TIME_T)
    (current.place, current.next) = (next, nil)
    if let login = current.nextLogin {
      current.nextLogin = nil
      if login == .probe {
        try renew(settings)
      } else if login == .digest(isFresh: true) {
        challenger = LoginMemory.origin(next)
      }
      try set(login, &current, settings)
    } else {
      current.hops += 1
      try set(logins.stage(at: next, challenger: challenger), &current, settings)
    }
    try options.set(current.request, to: next, settings, on: easy)
    try options.set(isFresh: false, on: easy)
    (current.mode, current.drained, current.drainsUntil) = (.waiting, 0, nil)
    begin(current)
  }

  /// Has libcurl forget every challenge. Connections and cookies stay.
  private func renew(_ settings: borrowing TransferSettings) throws(CurlFailure) {
    let bufferSize = options.bufferSize
    easy.reset()
    options = TransferOptions()
    challenger = nil
    try configure(settings)
    try options.set(bufferSize: bufferSize, on: easy)
  }

  private func begin(_ current: Current) {
    errorBuffer[0] = 0
    assembler.reset()
    quiet = StallWatch.Quiet()
    (socket, waited) = (nil, 0)
    isTrial = current.request.waited != nil
    place = current.place
    waitedBefore = current.request.waited.map { UInt64($0 / .nanoseconds(1)) }
    self.current = current
  }

  /// How long it has waited for the first answer of a connection that was opened for it, or for that connection itself,
  /// which a server that has enough may leave unaccepted; in nanoseconds, as `passTime` counted them. Nil if it does not.
  var wait: UInt64? {
    guard socket != nil, let current, current.head == nil, current.mode == .waiting else { return nil }
    return waited
  }

  /// Time passed in which the loop took what had come.
  /// - Returns: whether it waits; not if something is there to be read now.
  func passTime(_ nanoseconds: UInt64) -> Bool {
    guard wait != nil, let socket, !hasSomethingToRead(socket) else { return false }
    waited += nanoseconds
    return true
  }

  /// Whether it goes over a connection that has brought an answer.
  var isAnswered: Bool {
    guard let current else { return false }
    return current.head != nil || current.mode != .waiting
      || socket == nil && easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0
  }

  /// From the beginning of the connection, or of the request over one that was there, to the first byte of the answer; in
  /// nanoseconds. To be asked once it has its answer.
  var answerTime: UInt64 {
    let begin = easy.offset(CURLINFO_NAMELOOKUP_TIME_T)
    return UInt64(max(0, easy.offset(CURLINFO_STARTTRANSFER_TIME_T) - begin)) * 1000
  }

  func didOpen(_ socket: Int32) {
    guard let current else { return }
    // The last of several, where a host has several addresses.
    self.socket = socket
    onOpen(socket, current.place.hostAndPort, isTrial)
    isTrial = false
  }

  /// Judges how the transfer ended, and lets go of its sink unless it goes on.
  func finish(_ code: CURLcode) -> Finish {
    if current?.next != nil, current?.failure == nil { return .redirected }
    return .ended(end(code))
  }

  private func end(_ code: CURLcode) -> Result<TransferReceipt, DownloadError> {
    guard let current else { return .failure(DownloadError(.transport, activity: "finishing")) }
    defer { self.current = nil }
    lastBody = current.received
    if let failure = current.failure { return .failure(failure.at(current.address)) }
    // Ended by the proxy's own words, which are read no longer than any that are not wanted.
    if let refusal = current.refusal, code == CURLE_OK || code == CURLE_WRITE_ERROR {
      return .failure(told(refusal))
    }
    let isDrained = current.mode == .draining && current.refusal == nil
    if code != CURLE_OK, !isDrained {
      return .failure(told(DownloadError(facts(code), address: current.address)))
    }
    guard let head = current.head else {
      // An HTTP/2 stream may end well without a head.
      return .failure(
        DownloadError(
          .badResponse, cause: .detail("no response head"), address: current.address.key,
          activity: "reading the answer", isPassing: true))
    }
    if !isDrained, let length = head.contentLength, length != current.received {
      return .failure(Self.wrongLength(current.received, of: length, current.address))
    }
    if !isDrained, current.decoder?.isAtEnd == false {
      return .failure(ContentDecoder.cut.at(current.address))
    }
    return .success(receipt(head, bytes: current.received, isDrained: isDrained))
  }

  /// Lets go of the sink of a transfer that is taken out before its end.
  func abort(_ error: DownloadError) -> Result<TransferReceipt, DownloadError> {
    defer { current = nil }
    return .failure(current.map { error.at($0.address) } ?? error)
  }

  private static func wrongLength(_ received: Int64, of length: Int64, _ address: Address) -> DownloadError {
    DownloadError(
      received < length ? .shortBody : .longBody,
      cause: .detail("\(received) of \(length) bytes arrived"), address: address.key,
      activity: "receiving", isPassing: true)
  }

  private func receipt(_ head: HeadFacts, bytes: Int64, isDrained: Bool) -> TransferReceipt {
    let framing: TransferReceipt.Framing =
      head.contentLength != nil ? .length : head.isChunked ? .marked : .closed
    return TransferReceipt(
      status: head.status, bodyBytes: isDrained ? 0 : bytes, framing: framing,
      redirectedTo: effectiveAddress,
      reusedConnection: easy.long(CURLINFO_NUM_CONNECTS) == 0)
  }

  /// Where redirects led; nil if there were none. Only the credential-free form leaves this room.
  private var effectiveAddress: String? { current.flatMap { $0.hops > 0 ? $0.place.key : nil } }

  private func facts(_ code: CURLcode) -> TransferEnd {
    TransferEnd(
      code: code, message: String(cString: errorBuffer),
      errno: Int32(truncatingIfNeeded: easy.long(CURLINFO_OS_ERRNO)),
      isAnswered: current?.head != nil, reusedConnection: easy.long(CURLINFO_NUM_CONNECTS) == 0,
      shortage: TransferEnd.mayBeShortage(code) ? Self.shortage() : nil, proxy: options.proxy.map(proxyEnd))
  }

  /// Asks whether a descriptor can be had now. libcurl does not tell what socket(2) or open(2) answered.
  private static func shortage() -> Int32? {
    let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 {
      close(descriptor)
      return nil
    }
    return DownloadError.isShortage(errno) ? errno : nil
  }

  // MARK: libcurl calls back

  /// - Returns: whether the transfer goes on.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    switch assembler.take(line) {
    case .more: return true
    case .flood:
      current?.failure = DownloadError(
        .badResponse, cause: .detail("more than \(HeadAssembler.limit / 1024) KiB of headers"),
        activity: "reading the answer")
      return false
    case .redirect:
      let head = assembler.head
      passed(head)
      if assembler.setsCookie { cookieJar?.serverDidSetOne() }
      return redirect(head)
    case .final:
      let head = assembler.head
      if isFromProxy(head) { return passOver(head) }
      passed(head)
      if assembler.setsCookie { cookieJar?.serverDidSetOne() }
      return (head.status == 401 ? answerChallenge(head) : nil) ?? judge(head)
    }
  }

  /// The proxy refused, and may yet be asked again on the same transfer.
  /// - Parameter refusal: how it ends if not.
  func wait(after refusal: DownloadError) {
    current?.refusal = refusal
    current?.mode = .draining
    current?.drained = 0
  }

  private func judge(_ head: ResponseHead) -> Bool {
    guard let sink = current?.sink else { return false }
    current?.refusal = nil
    var head = head
    head.answeredBy = effectiveAddress
    // A body without length and without chunks ends when the connection does: a cut looks the same as the end.
    // libcurl 7.88 reports a reset HTTP/2 stream as success, so there the end proves nothing either.
    let hasBody = head.status != 204 && head.status != 304
    let coding = head["transfer-encoding"]
    // It means nothing beside Transfer-Encoding (RFC 9112 §6.3).
    let length = hasBody && coding == nil ? head.contentLength : nil
    // Whoever guesses may take half a file for the whole (RFC 9112 §6.3).
    if hasBody, coding == nil, length == nil, head["content-length"] != nil {
      current?.failure = DownloadError(
        .badResponse, cause: .detail("its Content-Length is malformed or contradicts itself"),
        activity: "reading the answer")
      return false
    }
    current?.head = HeadFacts(
      status: head.status, contentLength: length,
      isChunked: !hasBody || coding?.lowercased().hasSuffix("chunked") == true)
    do throws(DownloadError) {
      switch try sink.accept(head) {
      case .write: current?.mode = .writing
      case .splittable:
        current?.mode = .writing
        tellOfHead(head)
      case .decode:
        if case .known(let codings) = head.bodyCoding { current?.decoder = try ContentDecoder(codings) }
        current?.mode = .writing
      case .drain: return drain(isRefusal(head) ? .max : hasBody ? length : 0)
      }
      return true
    } catch {
      current?.failure = error
      return false
    }
  }

  /// Whether it refuses a login that libcurl would now try again by itself: the connection is given up instead.
  private func isRefusal(_ head: ResponseHead) -> Bool {
    head.status == 401 && current?.login.isAnsweredByLibcurl == true
  }

  /// A 401 that asks for another kind of login than it got is no answer yet.
  /// - Returns: whether the transfer goes on; nil if the answer is to be judged.
  private func answerChallenge(_ head: ResponseHead) -> Bool? {
    guard let current, current.hasLogin else { return nil }
    var offers = head["www-authenticate"].map { LoginOffers($0) } ?? []
    if dlm_curl_has_negotiate() == 0 { offers.remove(.negotiate) }
    guard let next = current.login.next(offers) else {
      if current.login == .negotiate { logins.forget(current.place) }
      return nil
    }
    logins.learn(next, at: current.place)
    self.current?.next = current.place
    self.current?.nextLogin = next
    return drain(isRefusal(head) ? .max : head["transfer-encoding"] == nil ? head.contentLength : nil)
  }

  private func redirect(_ head: ResponseHead) -> Bool {
    self.current?.refusal = nil
    guard let current, let location = head["location"] else { return false }
    switch Redirect.step(from: current.place, to: location, home: current.address, count: current.hops) {
    case .follow(let address):
      self.current?.next = address
      return drain(head["transfer-encoding"] == nil ? head.contentLength : nil)
    case .refuse(let error):
      self.current?.failure = error
      return false
    }
  }

  /// - Parameter length: of the body that comes; nil if nobody said it.
  /// - Returns: whether the transfer goes on: not for a body that is not worth its way.
  private func drain(_ length: Int64?) -> Bool {
    current?.mode = .draining
    if length == 0 { return true }
    if let length, length > Self.drainLimit { return false }
    let end = monotonicNanoseconds() + Self.drainTime
    current?.drainsUntil = end
    onDrain(end)
    return true
  }

  /// - Returns: whether the transfer goes on.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    rateLimit?.received(bytes.count, at: monotonicNanoseconds())
    switch current?.mode {
    case .writing:
      do throws(DownloadError) {
        if let sink = current?.sink, let decoder = current?.decoder {
          try decoder.decode(bytes) { piece throws(DownloadError) in try sink.write(piece) }
        } else {
          try current?.sink.write(bytes)
        }
        current?.received += Int64(bytes.count)
        return true
      } catch {
        current?.failure = error
        return false
      }
    case .draining:
      current?.drained += Int64(bytes.count)
      return (current?.drained ?? 0) <= Self.drainLimit
    case .waiting, nil:
      return false
    }
  }
}
