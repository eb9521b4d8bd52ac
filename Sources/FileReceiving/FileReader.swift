package import DownloadModel
import Synchronization

/// Reads a file from its start while it downloads. A file with an expected checksum is not read before it is verified.
package final class FileReader: Sendable {
  private let state = Lock<(download: FileDownload?, taken: Int64)>((nil, 0))

  package init() {}

  var taken: Int64 { state.withLock { $0.taken } }

  /// A requeued file starts another download, which continues its part.
  func begin(_ download: FileDownload) { state.withLock { $0.download = download } }

  /// The next bytes; empty if none have arrived. After the first bytes, the file cannot start over.
  package func next() throws(DownloadError) -> [UInt8] {
    guard let download = state.withLock({ $0.download }) else { return [] }
    return try download.access { receiver throws(DownloadError) in
      let bytes = try receiver.bytes(behind: taken)
      return state.withLock { state in
        // Another download may have started to overwrite them.
        if state.download !== download { return [] }
        state.taken += Int64(bytes.count)
        return bytes
      }
    }
  }
}
