import DownloadModel
import Synchronization

/// A limit on the bytes a second of all transfers together (`--limit-rate`), over all loops. A loop that has received
/// more than its allowance does not read its sockets until the time has caught up; TCP then slows the servers.
package final class RateLimiter: Sendable {
  package let bytesPerSecond: Int64
  /// Nanoseconds: the received bytes are paid for up to this time. A token bucket that may be overdrawn.
  private let paidUntil = Lock<UInt64>(0)

  /// Allowance that is unused for this long is lost, so that no burst follows a pause.
  static let allowance: UInt64 = 100_000_000

  /// - Parameter bytesPerSecond: at least 1.
  package init(bytesPerSecond: Int64) { self.bytesPerSecond = max(1, bytesPerSecond) }

  /// - Parameter now: in nanoseconds, on a monotonic clock.
  func received(_ bytes: Int, at now: UInt64) {
    let price = UInt64(Double(bytes) / Double(bytesPerSecond) * 1e9)
    paidUntil.withLock { $0 = max($0, now - min(now, Self.allowance)) + price }
  }

  func pause(at now: UInt64) -> UInt64 { paidUntil.withLock { $0 > now ? $0 - now : 0 } }

  /// CURLOPT_BUFFERSIZE: libcurl 7.88 reads up to a hundred times in a row from a socket that has more, and that must
  /// be at most a quarter of a second's bytes. (libcurl accepts no buffer below 1 KiB.)
  var bufferSize: Int { Int(min(48 * 1024, max(1024, bytesPerSecond / 400))) }

  /// SO_RCVBUF: the smallest that keeps a slow rate even; `nil` if the kernel's default suffices.
  var receiveBuffer: Int32? { bytesPerSecond < 8 << 20 ? Int32(max(4096, bytesPerSecond / 8)) : nil }
}
