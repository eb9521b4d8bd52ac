import DownloadModel

/// The order of requests: urgent ones first, then by place in the list, by size, or at random. Requests of unknown size
/// go last; ties keep the order of the list.
struct RequestRanking {
  var order = RequestOrder.list
  /// Seed of the random order.
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
