/// A request's place in its run's order; the smallest goes first.
struct RequestRank: Comparable {
  let isFirst: Bool
  let key: UInt64
  let id: Int

  static func < (left: RequestRank, right: RequestRank) -> Bool {
    if left.isFirst != right.isFirst { return left.isFirst }
    return left.key == right.key ? left.id < right.id : left.key < right.key
  }
}
