package import DownloadModel

/// Messages between this user's processes about the hosts they use. A note has eight words: the first is the host's
/// number, the second is zero while the process does not use the host.
package protocol HostNotes: SharedAccounts {
  func tell(_ note: SIMD8<UInt64>)
  /// - Returns: the notes of living processes in a fixed order, and the index of this process's note; `nil` if it has
  ///   none.
  func notes(of host: UInt64) -> (all: [SIMD8<UInt64>], own: Int)?
  /// Whether another process runs now or ran before.
  var hasCompany: Bool { get }
  /// Milliseconds, on a clock that all processes share.
  var now: UInt64 { get }
}
