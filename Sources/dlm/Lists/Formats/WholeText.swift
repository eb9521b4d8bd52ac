import DownloadModel
import Synchronization
import SystemPackage

/// The whole text of a list that is not a list of requests.
final class WholeText: ListFormatReader, Sendable {
  /// In bytes: two million checksums. A longer text may be endless (`/dev/zero`).
  static let limit = 256 << 20
  let line = 0
  private let text = Lock([UInt8]())
  var bytes: [UInt8] { text.withLock { $0 } }

  func take(_ block: [UInt8], base: Address?) throws -> [ListEntry] {
    try text.withLock { text in
      text += block
      if text.count > Self.limit { throw Errno.fileTooLarge }
    }
    return []
  }
}
