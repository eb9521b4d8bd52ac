import CCurl
import DownloadModel
import Glibc

/// One transfer from its request to its receipt, without its handle: the answers, their meaning, and the next step. A
/// redirect and a challenge are further hops of the same exchange. Not copyable, because checks of thousands of
/// transfers would copy their references.
struct Exchange: ~Copyable {
  let request: TransferRequest
  let sink: any ByteSink
  /// The redirects followed so far; `nil` before the first.
  private var route: Route?
  /// How the request sends its login; `nil` without a login for the current destination.
  var login: LoginStage?
  /// `nil` until the sink judges the head.
  private(set) var framing: AnswerFraming?
  /// Set if the sink wants the body without its content codings.
  private(set) var decoder: ContentDecoder?
  private(set) var received: Int64 = 0
  /// The number of hops before this one.
  private(set) var hops = 0
  /// Microseconds that those hops took.
  private(set) var hopTime: Int64 = 0
  private(set) var phase = Phase.waiting
  private var next: Hop?
  private var failure: DownloadError?
  /// The failure of the proxy's last answer, unless libcurl repeats the request with the login.
  private var refusal: DownloadError?
  /// Whether an earlier answer of this exchange has named mirrors. The first one counts, because it is nearest to the
  /// user's URL.
  private var hasMirrors = false
  /// Whether this hop only asks for the file's version: file servers know no conditional requests.
  private(set) var isProbe: Bool

  enum Phase: Equatable {
    case waiting
    case writing
    /// The body is dropped, so that the connection can be kept, but only until a deadline; `nil` if another answer
    /// follows, which has the usual time limits.
    case draining(until: UInt64?, dropped: Int64)
    case satisfied
  }

  enum Hop {
    case redirect(Route)
    /// To the same server, which requires another kind of login.
    case login(LoginStage)
    /// To the same server, over another kind of connection (`ConnectionWay`).
    case reconnection
    /// For the file itself, after a probe has shown that its version is another one than the request's condition names.
    case body
  }

  /// Dropping a longer body costs more than a new connection.
  private static let longestDrain: Int64 = 64 * 1024
  /// A short body follows its head at once; if it does not, the wait for it ends here (HTTP rule 33).
  static let drainTime: UInt64 = 250_000_000

  init(_ request: TransferRequest, _ sink: any ByteSink) {
    self.request = request
    self.sink = sink
    isProbe =
      !request.address.scheme.hasHeads && request.headerLines.contains { $0.hasPrefix(FileServerAnswer.condition) }
  }

  // MARK: Queries

  var destination: Address { route?.destination ?? request.address }

  /// Whether its server sends no heads. Redirects lead to no such server.
  var isFileServers: Bool { !request.address.scheme.hasHeads }

  /// The target of the redirects, without credentials; `nil` without redirects.
  var effectiveURL: String? { route?.destination.key }

  /// Whether neither a head for the sink nor a body to drop has arrived.
  var isWaiting: Bool { phase == .waiting && framing == nil }

  var goesOn: Bool { next != nil && failure == nil }

  /// Body bytes of this hop, whether kept or dropped: it changes as long as bytes arrive.
  var bodyBytes: Int64 { received + (drain?.dropped ?? 0) }

  /// When the draining of its body ends, complete or not; `nil` without a deadline.
  var drainDeadline: UInt64? { drain?.deadline }

  private var drain: (deadline: UInt64?, dropped: Int64)? {
    if case .draining(let deadline, let dropped) = phase { (deadline, dropped) } else { nil }
  }

  // MARK: Events. A returned Bool says whether the transfer continues. Times are in nanoseconds.

  mutating func fail(_ error: DownloadError) -> Bool {
    failure = error
    return false
  }

  /// - Parameter refusal: the result of the transfer if libcurl does not repeat the request to the proxy by itself.
  mutating func proxyDidRefuse(_ refusal: DownloadError) {
    self.refusal = refusal
    phase = .draining(until: nil, dropped: 0)
  }

  mutating func serverDidAnswer() { refusal = nil }

  mutating func redirect(_ head: ResponseHead, atMost limit: Int, at now: @autoclosure () -> UInt64) -> Bool {
    guard let location = head["location"] else { return false }
    do throws(DownloadError) {
      let route = route ?? Route(request.address)
      let further = try route.following(location, atMost: limit, mayLeaveTLS: request.mayLeaveTLS)
      next = .redirect(further)
      noteMirrors(head, target: further.destination)
      return drain(Self.announcedLength(head), at: now())
    } catch {
      return fail(error)
    }
  }

  /// Mirror managers name mirrors beside a redirect to the best one.
  private mutating func noteMirrors(_ head: ResponseHead, target: Address? = nil) {
    guard let meter = request.meter, !hasMirrors,
      let named = NamedMirrors(head, asked: [request.address, destination], target: target)
    else { return }
    hasMirrors = true
    meter.name(named)
  }

  mutating func askAgain(_ login: LoginStage, _ head: ResponseHead, at now: @autoclosure () -> UInt64) -> Bool {
    next = .login(login)
    return drain(isRefusal(head) ? .max : Self.announcedLength(head), at: now())
  }

  mutating func reconnect() { next = .reconnection }

  /// The same request is sent again, after this answer.
  mutating func askElsewhere(_ head: ResponseHead, at now: @autoclosure () -> UInt64) -> Bool {
    next = .reconnection
    return drain(Self.announcedLength(head), at: now())
  }

  /// The document of a refusal is read to its end.
  mutating func readRefusal(_ head: ResponseHead, at now: @autoclosure () -> UInt64) -> Bool {
    drain(Self.announcedLength(head), at: now())
  }

  mutating func requestBody() {
    isProbe = false
    next = .body
  }

  /// - Throws: `.badResponse` if the body's end could not be recognised.
  mutating func final(
    _ head: ResponseHead, throttling: [ThrottlingStatuses] = []
  ) throws(DownloadError) -> ResponseHead {
    framing = isFileServers ? AnswerFraming(ofFileServer: head) : try AnswerFraming(head)
    if head.isWhole || head.status == 206 { noteMirrors(head) }
    var head = head
    head.effectiveURL = effectiveURL
    head.isRefusal = throttling.contains { $0.contains(head.status, of: request.address) }
    return head
  }

  mutating func beginBody() { phase = .writing }

  mutating func take(
    _ disposition: BodyDisposition, of head: ResponseHead, at now: @autoclosure () -> UInt64
  ) throws(DownloadError) -> Bool {
    switch disposition {
    case .write, .splittable: beginBody()
    case .decode:
      // One layer, the last that was applied: each layer can multiply the one below, and the request asked for none.
      if case .known(let codings) = head.bodyCoding { decoder = try codings.last.map(ContentDecoder.init) }
      beginBody()
    case .drain where request.isHead: return drain(0, at: now())
    case .drain: return drain(isRefusal(head) ? .max : framing?.length, at: now())
    case .enough: return satisfied()
    }
    return true
  }

  mutating func delivered(_ count: Int) { received += Int64(count) }

  mutating func satisfied() -> Bool {
    phase = .satisfied
    return false
  }

  mutating func dropped(_ count: Int) -> Bool {
    guard let drain else { return false }
    phase = .draining(until: drain.deadline, dropped: drain.dropped + Int64(count))
    return drain.dropped + Int64(count) <= Self.longestDrain
  }

  /// - Parameter time: microseconds that the hop took.
  mutating func follow(after time: Int64) -> Hop? {
    guard let next else { return nil }
    self.next = nil
    hopTime += time
    hops += 1
    phase = .waiting
    if case .redirect(let further) = next { route = further }
    return next
  }

  /// Whether libcurl would answer a 401 with the login again by itself: then the connection is closed instead.
  private func isRefusal(_ head: ResponseHead) -> Bool {
    head.status == 401 && login?.isAnsweredByLibcurl == true
  }

  private static func announcedLength(_ head: ResponseHead) -> Int64? {
    head["transfer-encoding"] == nil ? head.contentLength : nil
  }

  /// - Parameter length: of the body; `nil` if the server did not give it.
  /// - Returns: false if the body is not worth receiving.
  private mutating func drain(_ length: Int64?, at now: @autoclosure () -> UInt64) -> Bool {
    let isRead = length != 0 && length ?? 0 <= Self.longestDrain
    phase = .draining(until: isRead ? now() + Self.drainTime : nil, dropped: 0)
    return isRead || length == 0
  }

  // MARK: The end

  /// Whether all bytes arrived that an FTP server announced, whatever became of its last reply.
  var hasWholeFile: Bool {
    destination.scheme.isFTP && phase == .writing && framing?.length == received
  }

  func receipt(_ code: CURLcode, _ cause: () -> DownloadError) throws(DownloadError) -> TransferReceipt {
    if let failure { throw failure }
    if let refusal, code == CURLE_OK || code == CURLE_WRITE_ERROR { throw refusal }
    let isDrained = drain != nil && refusal == nil
    let isCutShort = isDrained || phase == .satisfied
    if code != CURLE_OK, !isCutShort, !hasWholeFile { throw cause() }
    guard let framing else {
      // An HTTP/2 stream may end without an error and without a head.
      throw DownloadError(.badResponse, "no response head", "reading the answer", isTransient: true)
    }
    if !isCutShort {
      try framing.check(received: received)
      // A file may be empty; a range has at least one byte.
      if let decoder, !decoder.isAtEnd || framing.status == 206 && received == 0 { throw ContentDecoder.cut }
    }
    return TransferReceipt(
      status: framing.status, bodyBytes: isDrained ? 0 : received, proof: framing.proof,
      effectiveURL: effectiveURL)
  }
}
