import DownloadModel

/// Which share has each key, so that equal requests go to one loop, whose cache coalesces them without a lock.
///
/// A key in flight is remembered as long as it is in flight. Keys that ended are remembered in two generations, of
/// which the older is dropped when the younger is full, so the memory is bounded.
///
/// A key is remembered by its hash, which takes a third of the time of whole keys and keeps no address in memory.
/// Different keys rarely have the same hash; if two do, both go to one share, which does no harm.
struct KeyHomes {
  enum Home: Equatable {
    /// An equal request is in flight there.
    case inFlight(Int)
    /// An equal request ended there a moment ago.
    case recent(Int)
  }

  private struct Use {
    let share: Int
    var count = 0
    /// Whether equal requests wait for the share.
    var isAwaited = false
  }

  private var inFlight: [Int: Use] = [:]
  private var young: [Int: Int] = [:]
  private var old: [Int: Int] = [:]
  private let generation: Int

  /// - Parameter generation: how many keys a generation holds.
  init(generation: Int = 2048) { self.generation = generation }

  /// Equal for equal keys (`DownloadRequest.Key`).
  static func number(of request: DownloadRequest) -> Int {
    let number = request.address.resourceHash
    if request.outputName == nil, request.checksum == nil { return number }
    var hasher = Hasher()
    hasher.combine(number)
    hasher.combine(request.outputName)
    hasher.combine(request.checksum)
    return hasher.finalize()
  }

  func home(of request: DownloadRequest) -> Home? {
    let number = Self.number(of: request)
    if let use = inFlight[number] { return .inFlight(use.share) }
    if let share = young[number] ?? old[number] { return .recent(share) }
    return nil
  }

  /// Notes that a request begins. The share becomes the key's home, unless another share has the key in flight.
  mutating func begin(_ request: DownloadRequest, at share: Int) {
    inFlight[Self.number(of: request), default: Use(share: share)].count += 1
  }

  /// Notes that a request waits for the share that has an equal one in flight.
  mutating func markAwaited(_ request: DownloadRequest) {
    inFlight[Self.number(of: request)]?.isAwaited = true
  }

  /// Notes that a request has ended.
  /// - Returns: the share for which equal requests wait, if they need not wait for it any longer.
  mutating func end(_ request: DownloadRequest) -> Int? {
    let number = Self.number(of: request)
    guard let use = inFlight[number] else { return nil }
    if use.count > 1 {
      inFlight[number]?.count -= 1
      return nil
    }
    inFlight[number] = nil
    if young.count >= generation {
      old = young
      young = Dictionary(minimumCapacity: generation)
    }
    young[number] = use.share
    return use.isAwaited ? use.share : nil
  }

  /// How many keys are remembered.
  var count: Int { inFlight.count + young.count + old.count }
}
