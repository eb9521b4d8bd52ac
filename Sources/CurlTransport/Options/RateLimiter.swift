package import DownloadModel
import Synchronization

/// A limit on the bytes a second that some transfers receive together, over all loops: a token bucket that may be
/// overdrawn. Each transfer books the time of the bytes that it has received, and is paused until then; TCP then slows
/// its server.
package final class RateLimiter: Sendable {
  /// Bytes a second; 0 for no limit. The user may change it at any time.
  private let rate: Atomic<Int64>
  /// Nanoseconds: the received bytes are paid for up to this time.
  private let paidUntil = Lock<UInt64>(0)
  /// Where this user's processes keep such a time together; `nil` for a limit of this process.
  private let account: SharedAccount?

  /// Allowance that is unused for this long is lost, so that no burst follows a pause.
  static let allowance: UInt64 = 100_000_000

  package init(bytesPerSecond: Int64 = 0, account: SharedAccount? = nil) {
    rate = Atomic(max(0, bytesPerSecond))
    self.account = account
  }

  package var bytesPerSecond: Int64 { rate.load(ordering: .relaxed) }

  package var isOn: Bool { bytesPerSecond > 0 }

  package func set(bytesPerSecond: Int64) { rate.store(max(0, bytesPerSecond), ordering: .relaxed) }

  /// Pays for bytes, which may be used once everything before them is paid for.
  /// - Parameter now: in nanoseconds, CLOCK_MONOTONIC.
  /// - Returns: that time; in the past for bytes that need not wait.
  @discardableResult
  func pay(for bytes: Int, at now: UInt64) -> UInt64 {
    let rate = bytesPerSecond
    guard rate > 0 else { return 0 }
    let price = Self.time(of: bytes, at: rate)
    let earliest = now - min(now, Self.allowance)
    let longest = Self.time(of: Self.mostTransfers * (bufferSize ?? bytes), at: rate)
    if let start = account?.book(price, from: earliest, within: longest) { return start }
    return paidUntil.withLock { paidUntil in
      let start = max(paidUntil, earliest)
      paidUntil = start + price
      return start
    }
  }

  /// The transfers that wait for a shared limit, in all processes. Each books the time of one buffer at a time.
  private static let mostTransfers = 256

  /// - Returns: nanoseconds.
  private static func time(of bytes: Int, at rate: Int64) -> UInt64 { UInt64(Double(bytes) / Double(rate) * 1e9) }

  func pause(at now: UInt64) -> UInt64 { isOn ? paidUntil.withLock { $0 > now ? $0 - now : 0 } : 0 }

  /// CURLOPT_BUFFERSIZE: libcurl 7.88 reads up to a hundred times in a row from a socket that has more, and that must
  /// be at most a quarter of a second's bytes. (libcurl accepts no buffer below 1 KiB.)
  var bufferSize: Int? { isOn ? Int(min(48 * 1024, max(1024, bytesPerSecond / 400))) : nil }

  /// SO_RCVBUF: the smallest that keeps a slow rate even; `nil` if the kernel's default suffices.
  var receiveBuffer: Int32? { isOn && bytesPerSecond < 8 << 20 ? Int32(max(4096, bytesPerSecond / 8)) : nil }
}
