package import DownloadModel
import Synchronization

/// Reads a file while it comes, from its start on. A checksum is compared before anything is read.
package final class FileReader: Sendable {
  private let state = Lock<(download: FileDownload?, taken: Int64)>((nil, 0))

  package init() {}

  var taken: Int64 { state.withLock { $0.taken } }

  /// A file that its host refused comes by another download, which goes on with its part.
  func begin(_ download: FileDownload) { state.withLock { $0.download = download } }

  /// The next bytes; none while none are there. From now on the file cannot start over.
  package func next() throws(DownloadError) -> [UInt8] {
    guard let download = state.withLock({ $0.download }) else { return [] }
    return try download.access { reception throws(DownloadError) in
      let bytes = try reception.bytes(behind: taken)
      return state.withLock { state in
        // Another download may have begun to write over them.
        if state.download !== download { return [] }
        state.taken += Int64(bytes.count)
        return bytes
      }
    }
  }
}
