import Synchronization

/// A limit on the bytes a second of all transfers together (`--limit-rate`), shared by all loops.
///
/// A loop that has received more than was due leaves its sockets alone until the time has caught up. TCP does the rest:
/// the kernel's buffers fill, and servers wait. So no transfer is paused (which loses data on HTTP/2 before libcurl
/// 8.4), and thousands of small files are limited as well as a large one.
public final class RateLimit: Sendable {
  public let bytesPerSecond: Int64
  private let debt: Mutex<RateDebt>

  /// - Parameter bytesPerSecond: at least 1.
  public init(bytesPerSecond: Int64) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    debt = Mutex(RateDebt(bytesPerSecond: self.bytesPerSecond))
  }

  /// Bytes were received.
  /// - Parameter now: in nanoseconds, of a clock that never goes back.
  func received(_ bytes: Int, at now: UInt64) { debt.withLock { $0.add(Int64(bytes), at: now) } }

  /// How long nothing may be read, in nanoseconds; 0 if something may.
  func pause(at now: UInt64) -> UInt64 { debt.withLock { $0.pause(at: now) } }

  /// CURLOPT_BUFFERSIZE: libcurl 7.88 reads up to a hundred times in a row from a socket that has more, which is to come
  /// to a quarter of a second's worth at most. (It takes no buffer below 1 KiB.)
  var bufferSize: Int { Int(min(48 * 1024, max(1024, bytesPerSecond / 400))) }

  /// SO_RCVBUF: what the kernel takes in advance. The least that keeps a slow rate even; nil where its own will do.
  var receiveBuffer: Int32? { bytesPerSecond < 8 << 20 ? Int32(max(4096, bytesPerSecond / 8)) : nil }
}

/// What was received beyond what was due: a token bucket that may be overdrawn, as a function of time.
struct RateDebt: Sendable, Equatable {
  let bytesPerSecond: Int64
  /// Until when the bytes that came are paid for, in nanoseconds.
  private var paidUntil: UInt64 = 0

  /// What was not used in this time is lost: after a lull no burst follows.
  static let allowance: UInt64 = 100_000_000

  init(bytesPerSecond: Int64) { self.bytesPerSecond = bytesPerSecond }

  mutating func add(_ bytes: Int64, at now: UInt64) {
    let start = max(paidUntil, now - min(now, Self.allowance))
    paidUntil = start + UInt64(Double(bytes) / Double(bytesPerSecond) * 1e9)
  }

  func pause(at now: UInt64) -> UInt64 { paidUntil > now ? paidUntil - now : 0 }
}
