import CCurl
import DownloadModel

/// One transfer from its request to its receipt, without its handle: what came, what that means, and what follows. A
/// redirect and a challenge are further hops of the same exchange.
///
/// Not copyable: looks at thousands of transfers took a tenth of the processor's time for their references.
struct Exchange: ~Copyable {
  let request: TransferRequest
  let sink: any ByteSink
  private(set) var route: Route
  /// How the request sends its login; nil where there is none for the current destination.
  var login: LoginStage?
  /// Nil until the sink judges the head.
  private(set) var framing: AnswerFraming?
  /// Set if the sink wants the body without its content codings.
  private(set) var decoder: ContentDecoder?
  /// Body bytes for the sink, as the server sent them.
  private(set) var received: Int64 = 0
  /// How many hops there were before this one, and how many microseconds they took.
  private(set) var (hops, hopTime): (Int, Int64) = (0, 0)
  private(set) var phase = Phase.waiting
  /// What follows the answer that is being drained.
  private var next: Hop?
  private var failure: DownloadError?
  /// The failure of the proxy's last answer, unless libcurl asks once more with the login.
  private var refusal: DownloadError?

  /// What happens to the bytes of the body.
  enum Phase {
    /// No body byte has come.
    case waiting
    case writing
    /// The body is not wanted, but read to its end, so that the connection can be kept: until then, complete or not;
    /// nil where another answer follows, which is waited for like any other.
    case draining(until: UInt64?, dropped: Int64)
    /// The sink has all it wanted: the transfer ends before its body does.
    case satisfied
  }

  /// A further request of the same transfer.
  enum Hop {
    case redirect(Address)
    /// To the same server, which requires another kind of login.
    case login(LoginStage)
  }

  /// A longer body costs more than a new connection.
  private static let longestDrain: Int64 = 64 * 1024
  /// A short body follows its head at once; if it does not, it is not waited for any longer (HTTP rule 33).
  static let drainTime: UInt64 = 250_000_000

  init(_ request: TransferRequest, _ sink: any ByteSink) {
    self.request = request
    self.sink = sink
    route = Route(request.address)
  }

  // MARK: Questions

  /// Whether neither a head for the sink nor a body to be dropped has come yet.
  var isWaiting: Bool { if case .waiting = phase { framing == nil } else { false } }

  /// Whether another request follows when this one has ended.
  var goesOn: Bool { next != nil && failure == nil }

  /// Body bytes of this hop and those for the sink: this changes as long as bytes come.
  var bodyBytes: Int64 { received + (drain?.dropped ?? 0) }

  /// When the draining of its body ends, complete or not; nil if there is no deadline.
  var drainDeadline: UInt64? { drain?.deadline }

  private var drain: (deadline: UInt64?, dropped: Int64)? {
    if case .draining(let deadline, let dropped) = phase { (deadline, dropped) } else { nil }
  }

  // MARK: What comes. Where a call returns a Bool, it is whether the transfer goes on.

  mutating func fail(_ error: DownloadError) -> Bool {
    failure = error
    return false
  }

  /// - Parameter refusal: how the transfer ends if libcurl does not ask the proxy once more by itself.
  mutating func proxyDidRefuse(_ refusal: DownloadError) {
    self.refusal = refusal
    phase = .draining(until: nil, dropped: 0)
  }

  /// An answer of the server came, so the proxy let the request through.
  mutating func serverDidAnswer() { refusal = nil }

  /// - Parameter now: in nanoseconds.
  mutating func redirect(_ head: ResponseHead, at now: @autoclosure () -> UInt64) -> Bool {
    guard let location = head["location"] else { return false }
    do throws(DownloadError) {
      next = .redirect(try route.target(of: location))
      return drain(Self.announcedLength(head), at: now())
    } catch {
      return fail(error)
    }
  }

  /// Another request follows a 401.
  mutating func askAgain(_ login: LoginStage, _ head: ResponseHead, at now: @autoclosure () -> UInt64) -> Bool {
    next = .login(login)
    return drain(isRefusal(head) ? .max : Self.announcedLength(head), at: now())
  }

  /// - Returns: the head for the sink to judge.
  /// - Throws: `.badResponse` if the body's end could not be recognised.
  mutating func final(_ head: ResponseHead) throws(DownloadError) -> ResponseHead {
    framing = try AnswerFraming(head)
    var head = head
    head.effectiveURL = route.effectiveURL
    return head
  }

  /// The sink has judged the head.
  mutating func take(
    _ disposition: BodyDisposition, of head: ResponseHead, at now: @autoclosure () -> UInt64
  ) throws(DownloadError) -> Bool {
    switch disposition {
    case .write, .splittable: phase = .writing
    case .decode:
      // One layer, the last that was applied: each can multiply the one below it, and nobody asked for any.
      if case .known(let codings) = head.bodyCoding { decoder = try codings.last.map(ContentDecoder.init) }
      phase = .writing
    case .drain: return drain(isRefusal(head) ? .max : framing?.length, at: now())
    case .enough: return satisfied()
    }
    return true
  }

  mutating func delivered(_ count: Int) { received += Int64(count) }

  /// The sink wants no more.
  mutating func satisfied() -> Bool {
    phase = .satisfied
    return false
  }

  mutating func dropped(_ count: Int) -> Bool {
    guard let drain else { return false }
    phase = .draining(until: drain.deadline, dropped: drain.dropped + Int64(count))
    return drain.dropped + Int64(count) <= Self.longestDrain
  }

  /// The next request begins, after so many microseconds.
  mutating func follow(after time: Int64) -> Hop? {
    guard let next else { return nil }
    self.next = nil
    hopTime += time
    hops += 1
    phase = .waiting
    if case .redirect(let target) = next { route.follow(to: target) }
    return next
  }

  /// Whether libcurl would answer a 401 with the login again by itself: then the connection is closed instead.
  private func isRefusal(_ head: ResponseHead) -> Bool {
    head.status == 401 && login?.isAnsweredByLibcurl == true
  }

  private static func announcedLength(_ head: ResponseHead) -> Int64? {
    head["transfer-encoding"] == nil ? head.contentLength : nil
  }

  /// - Parameter length: of the body that comes; nil if the server did not give it.
  /// - Returns: false if the body is not worth receiving.
  private mutating func drain(_ length: Int64?, at now: @autoclosure () -> UInt64) -> Bool {
    let isRead = length != 0 && length ?? 0 <= Self.longestDrain
    phase = .draining(until: isRead ? now() + Self.drainTime : nil, dropped: 0)
    return isRead || length == 0
  }

  // MARK: The end

  /// - Parameter cause: what the code means, if no failure was found here.
  func receipt(_ code: CURLcode, _ cause: () -> DownloadError) throws(DownloadError) -> TransferReceipt {
    if let failure { throw failure }
    // The proxy's refusal ended it. Its body is dropped like any other unwanted one.
    if let refusal, code == CURLE_OK || code == CURLE_WRITE_ERROR { throw refusal }
    let isDrained = drain != nil && refusal == nil
    // The transfer was broken off because the sink had enough, and that is success.
    let isSatisfied = if case .satisfied = phase { true } else { false }
    if code != CURLE_OK, !isDrained, !isSatisfied { throw cause() }
    guard let framing else {
      // An HTTP/2 stream may end without an error and without a head.
      throw DownloadError(
        .badResponse, cause: .detail("no response head"), activity: "reading the answer", isTransient: true)
    }
    if !isDrained, !isSatisfied {
      try framing.check(received: received)
      // A file may be empty, a range of one has a byte.
      if let decoder, !decoder.isAtEnd || framing.status == 206 && received == 0 { throw ContentDecoder.cut }
    }
    return TransferReceipt(
      status: framing.status, bodyBytes: isDrained ? 0 : received, framing: framing.proof,
      effectiveURL: route.effectiveURL)
  }
}
