import DownloadModel

/// Which share has each key, so that equal requests go to one loop, whose cache coalesces them without a lock. A key
/// stays while it is in flight, and then in two generations: the older is dropped when the younger is full. Keys are
/// stored by their hashes: two keys of one hash go to one share, which does no harm.
struct KeyHomes {
  struct Home: Equatable {
    let share: Int
    /// Whether an equal request is in flight there; if not, one ended there a moment ago.
    let isInFlight: Bool
  }

  private var inFlight: [Int: (share: Int, count: Int)] = [:]
  private var young: [Int: Int] = [:]
  private var old: [Int: Int] = [:]
  private let generation: Int

  init(generation: Int = 2048) { self.generation = generation }

  /// Equal for equal keys (`DownloadRequest.Key`).
  static func number(of request: DownloadRequest) -> Int {
    let number = request.address.resourceHash
    if request.outputName == nil, request.checksum == nil, request.folder == nil { return number }
    var hasher = Hasher()
    hasher.combine(number)
    hasher.combine(request.outputName)
    hasher.combine(request.folder)
    hasher.combine(request.checksum)
    return hasher.finalize()
  }

  func home(of request: DownloadRequest) -> Home? {
    let number = Self.number(of: request)
    if let use = inFlight[number] { return Home(share: use.share, isInFlight: true) }
    return (young[number] ?? old[number]).map { Home(share: $0, isInFlight: false) }
  }

  /// Makes the share the key's home, unless another share has the key in flight.
  mutating func begin(_ request: DownloadRequest, at share: Int) {
    inFlight[Self.number(of: request), default: (share, 0)].count += 1
  }

  mutating func end(_ request: DownloadRequest) {
    let number = Self.number(of: request)
    guard let use = inFlight[number] else { return }
    inFlight[number] = use.count > 1 ? (use.share, use.count - 1) : nil
    if use.count > 1 { return }
    if young.count >= generation {
      old = young
      young = Dictionary(minimumCapacity: generation)
    }
    young[number] = use.share
  }
}
