import DownloadModel

/// Which of two requests goes first. Pure.
///
/// What is urgent goes before what is not. Among those the order says: by place in the list, by size, or by lot. Those
/// of unknown size go last, and equals in the order of the list.
struct RequestRanking: Sendable, Equatable {
  var order = RequestOrder.list
  /// For the lots: another number, another order.
  var seed: UInt64 = 0

  func rank(_ request: DownloadRequest) -> RequestRank {
    RequestRank(isFirst: request.isFirst, key: key(request), id: request.id)
  }

  private func key(_ request: DownloadRequest) -> UInt64 {
    switch order {
    case .list: 0
    case .small: request.expectedSize.map { UInt64($0) } ?? .max
    case .large: request.expectedSize.map { UInt64.max - 1 - UInt64($0) } ?? .max
    case .random:
      SeededGenerator.mix((UInt64(truncatingIfNeeded: request.id) &+ seed) &* SeededGenerator.step)
    }
  }

  /// So many urgent requests go in a row, at most, while others wait for other hosts and the list goes on: a list that
  /// never ends may hold urgent ones for ever.
  static let mostInARow = 16

  /// Whether one that is not urgent, of a host without urgent ones, has its turn.
  static func letsOthersGo(urgentInARow: Int, isListRead: Bool) -> Bool {
    !isListRead && urgentInARow >= mostInARow
  }
}

/// A request's place in its run's order; the least goes first.
struct RequestRank: Sendable, Comparable {
  let isFirst: Bool
  let key: UInt64
  let id: Int

  /// Behind all requests.
  static let last = RequestRank(isFirst: false, key: .max, id: .max)

  static func < (left: RequestRank, right: RequestRank) -> Bool {
    if left.isFirst != right.isFirst { return left.isFirst }
    return left.key == right.key ? left.id < right.id : left.key < right.key
  }
}
