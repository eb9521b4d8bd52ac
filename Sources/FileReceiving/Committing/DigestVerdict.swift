package import DownloadModel

package enum DigestVerdict: Equatable {
  case none
  case match
  case mismatch(expected: ContentDigest, found: ContentDigest)
  /// The wrong ranges, and the reason for the user. Without ranges, the whole file is downloaded again.
  case wrongPieces([Range<Int64>], String)
  /// Some bytes were not hashed on arrival (an earlier run's, or a further segment's), so the file must be read.
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
