import DownloadModel

/// What this user's processes tell one another of the hosts they use: a note of eight words each, of which the first is
/// the host's number, and the second zero while the process uses nothing there.
package protocol HostNotes: Sendable {
  /// The same in every process, and not zero.
  func number(of host: String) -> UInt64
  func tell(_ note: SIMD8<UInt64>)
  /// - Returns: the notes of living processes, always in one order, and the index of this one's; nil if it has none.
  func notes(of host: UInt64) -> (all: [SIMD8<UInt64>], own: Int)?
  /// Whether there is, or was, any other process.
  var hasCompany: Bool { get }
  /// Milliseconds, the same for all processes.
  var now: UInt64 { get }
}
