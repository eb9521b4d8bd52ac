import DownloadModel
import HeapModule

/// What was read of the list and has not been sorted to its hosts: how far a run looks ahead to find what goes first.
///
/// It is bounded, so that a list of millions, or one that never ends, costs no more: what goes first is then the first
/// of those in the window.
struct RequestWindow {
  /// Requests that are read ahead, those that wait for their hosts included.
  static let limit = 1 << 16

  private struct Ranked: Comparable {
    let rank: RequestRank
    let request: DownloadRequest

    static func == (left: Ranked, right: Ranked) -> Bool { left.rank == right.rank }
    static func < (left: Ranked, right: Ranked) -> Bool { left.rank < right.rank }
  }

  private let ranking: RequestRanking
  // Two, so that urgent ones whose hosts are busy do not stand before the others.
  private var urgent = Heap<Ranked>()
  private var others = Heap<Ranked>()

  init(_ ranking: RequestRanking) { self.ranking = ranking }

  var count: Int { urgent.count + others.count }

  mutating func add(_ request: DownloadRequest) {
    let ranked = Ranked(rank: ranking.rank(request), request: request)
    if request.isFirst { urgent.insert(ranked) } else { others.insert(ranked) }
  }

  mutating func takeUrgent() -> DownloadRequest? { urgent.popMin()?.request }
  mutating func takeOther() -> DownloadRequest? { others.popMin()?.request }

  /// Takes out requests that are wanted no more.
  mutating func withdraw(_ ids: Set<Int>) -> [DownloadRequest] {
    let withdrawn = (urgent.unordered + others.unordered).filter { ids.contains($0.request.id) }
    if !withdrawn.isEmpty {
      urgent = Heap(urgent.unordered.filter { !ids.contains($0.request.id) })
      others = Heap(others.unordered.filter { !ids.contains($0.request.id) })
    }
    return withdrawn.map(\.request)
  }
}

/// How far the source has been read.
struct SourceReading {
  /// Whether it has more without waiting for whoever writes the list.
  var goesOn = true
  var hasEnded = false
  /// Whether a lane or the reader is waiting for it.
  var isReading = false
  /// Whether the reader must wait for it, since no lane may.
  var isWanted = false
}
