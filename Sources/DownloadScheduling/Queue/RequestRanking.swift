import DownloadModel

/// Which of two requests goes first: an urgent one, then by place in the list, by size, or by lot. Those of unknown
/// size go last, and equals in the order of the list.
struct RequestRanking: Equatable {
  var order = RequestOrder.list
  /// Decides the lots.
  var seed: UInt64 = 0

  func rank(_ request: DownloadRequest) -> RequestRank {
    RequestRank(isFirst: request.isFirst, key: key(request), id: request.id)
  }

  private func key(_ request: DownloadRequest) -> UInt64 {
    switch order {
    case .list: 0
    case .small: request.expectedSize.map(UInt64.init) ?? .max
    case .large: request.expectedSize.map { UInt64.max - 1 - UInt64($0) } ?? .max
    case .random: SeededGenerator.mix((UInt64(truncatingIfNeeded: request.id) &+ seed) &* SeededGenerator.step)
    }
  }
}
