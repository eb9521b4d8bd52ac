public import DownloadModel
import Synchronization

/// The user's settings for connections; the same for every transfer of a transport.
@dynamicMemberLookup
public struct TransportOptions: Sendable {
  /// All that an answer depends on.
  public var trust: Trust
  /// CURLOPT_CONNECTTIMEOUT_MS.
  public var connectTimeout: Duration = .seconds(10)
  /// A transfer has stalled if no byte comes for this time, once its connection is up.
  public var stallTimeout: Duration = .seconds(30)
  /// Bytes a second that a file must bring, over each such window; nil for any rate.
  public var leastRate: Int64?
  public var rateWindow: Duration = .seconds(30)
  /// Used by all transports of a run; nil for none. libcurl's own variables are ignored, except `NO_PROXY`.
  public var proxies: ProxyRoutes?
  /// Used by all transports of a run; nil for a run that keeps no cookies.
  public var cookieJar: CookieJar?
  /// Asks for HTTP/2 over TLS. Off by default, because libcurl below 8.4 does not handle its bodies reliably.
  public var usesHTTP2 = false
  /// How long further transfers to a new host wait at most for a connection that they may share (HTTP/2).
  public var sharingWait: Duration = .milliseconds(30)
  /// For how many transfers at a time connections are kept, at most.
  public var width = 64
  /// Used by all transports of a run; nil for no limit.
  public var rateLimit: RateLimiter?
  /// Used by all transports of a run, which join it in the order in which they are made.
  public var group = TransportGroup()
  /// Is told of each transfer that ended, on its loop's thread; nil for a run of which nobody wants a report.
  public var onTransfer: (@Sendable (TransferTimes) -> Void)?

  public init(userAgent: String) { trust = Trust(userAgent: userAgent) }

  public subscript<Value>(dynamicMember setting: WritableKeyPath<Trust, Value>) -> Value {
    get { trust[keyPath: setting] }
    set { trust[keyPath: setting] = newValue }
  }
}

/// A limit on the bytes a second of all transfers together (`--limit-rate`), over all loops: a loop that has received
/// more than was due does not read its sockets until the time has caught up, and TCP does the rest.
public final class RateLimiter: Sendable {
  public let bytesPerSecond: Int64
  /// Nanoseconds. The received bytes are paid for up to then: a token bucket that may be overdrawn.
  private let paidUntil = Lock<UInt64>(0)

  /// Allowance that is unused for this long is lost, so that no burst follows a pause.
  static let allowance: UInt64 = 100_000_000

  /// - Parameter bytesPerSecond: at least 1.
  public init(bytesPerSecond: Int64) { self.bytesPerSecond = max(1, bytesPerSecond) }

  /// - Parameter now: in nanoseconds, of a clock that never goes back.
  func received(_ bytes: Int, at now: UInt64) {
    let price = UInt64(Double(bytes) / Double(bytesPerSecond) * 1e9)
    paidUntil.withLock { $0 = max($0, now - min(now, Self.allowance)) + price }
  }

  func pause(at now: UInt64) -> UInt64 { paidUntil.withLock { $0 > now ? $0 - now : 0 } }

  /// CURLOPT_BUFFERSIZE: libcurl 7.88 reads up to a hundred times in a row from a socket that has more, and that must
  /// be at most a quarter of a second's bytes. (It takes no buffer below 1 KiB.)
  var bufferSize: Int { Int(min(48 * 1024, max(1024, bytesPerSecond / 400))) }

  /// SO_RCVBUF: the least that keeps a slow rate even; nil where the kernel's default suffices.
  var receiveBuffer: Int32? { bytesPerSecond < 8 << 20 ? Int32(max(4096, bytesPerSecond / 8)) : nil }
}

/// How much one read from a socket may bring (CURLOPT_BUFFERSIZE). A large buffer saves system calls, but costs memory
/// and a slower allocation, so only the few transfers that bring much get one.
enum ReceiveBuffer {
  /// How much the write callback gets at a time, and a stream's least.
  static let least = 16 * 1024
  static let most = 512 * 1024
  /// Enough for a small file with its head.
  static let small = 32 * 1024
  /// For all transfers of a loop together, unless there are so many that the least for each is more.
  static let budget = 2 * 1024 * 1024
  /// For a transfer among thousands, which has its connection for itself.
  static let scant = 2 * 1024

  /// - Parameter running: the transfers of the loop, this one included.
  /// - Parameter isShared: whether others may use the same connection: a stream that is full holds it up.
  /// - Returns: bytes. There are few different sizes, so that allocations are reused.
  static func size(running: Int, lastBody: Int64?, scheme: Address.Scheme, isShared: Bool = false) -> Int {
    var size = lastBody.map { $0 < small } == true ? small : most
    while size > (isShared ? least : scant), size * running > budget { size /= 2 }
    if size > least { return size }
    // libcurl allocates one byte more than it is told, and an allocator rounds up: here to a power of two, or a quarter
    // more for a whole record of TLS (16 KiB). For a large buffer that is not worth the uneven pieces.
    return (scheme == .https ? size * 5 / 4 : size) - 1
  }
}
