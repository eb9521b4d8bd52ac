package import DownloadModel
import Glibc
import Synchronization

package enum DigestVerdict: Equatable {
  case none
  case match
  case mismatch(expected: ContentDigest, found: ContentDigest)
  /// Which bytes are wrong, or none to fetch the whole anew; and what is said of it.
  case wrongPieces([Range<Int64>], String)
  /// Some bytes came before this run, so the file must be read.
  case unread(ContentDigest)

  init(expected: ContentDigest, found: ContentDigest) {
    self = expected == found ? .match : .mismatch(expected: expected, found: found)
  }

  package var isWrong: Bool {
    switch self {
    case .mismatch, .wrongPieces: true
    default: false
    }
  }
}
