/// What long files give up so that urgent requests need not wait for their ends. Pure.
///
/// A place of a host is first taken from files that have several connections to it: each keeps one, and is
/// only slower. Where that is not enough, or it is a lane that is missing, whole files give way: they are
/// broken off, keep their bytes, and go on when it is their turn again. Those give way that are last in the
/// run's order. An urgent file gives up nothing, and nothing is given up for more requests than wait.
enum YieldRule {
  enum Demand: Sendable, Equatable {
    /// To end so many of its further connections.
    case connections(Int)
    /// To go back to the queue.
    case file
  }

  /// A file under way that can go on later where it was.
  struct LongFile: Sendable, Equatable {
    let rank: RequestRank
    let host: String
    /// Connections besides its first.
    var further = 0
    /// How many of those it is ending.
    var ending = 0
    /// Whether it is on its way back to the queue.
    var isYielding = false

    init(rank: RequestRank, host: String) { (self.rank, self.host) = (rank, host) }
  }

  /// A host for which urgent requests wait.
  struct Waiting: Sendable, Equatable {
    let host: String
    let urgent: Int
    /// Downloads that it could take at once.
    let room: Int
  }

  /// - Parameters:
  ///   - files: by their requests' numbers.
  ///   - hosts: none that is in a cooldown, since nothing that is given up would help there.
  ///   - freeLanes: how many more files the run may have under way.
  static func demands(
    _ files: [Int: LongFile], _ hosts: [Waiting], freeLanes: Int
  ) -> [Int: Demand] {
    let order = files.filter { !$0.value.rank.isFirst }.sorted { $1.value.rank < $0.value.rank }
    var lanes = freeLanes + order.count { $0.value.isYielding }
    var demands: [Int: Demand] = [:]
    // Urgent requests that could go if there were lanes.
    var ready = 0
    for host in hosts {
      let here = order.filter { $0.value.host == host.host }
      var room = here.reduce(host.room) {
        $0 + ($1.value.isYielding ? 1 + $1.value.further : $1.value.ending)
      }
      for (id, file) in here where !file.isYielding && room < host.urgent {
        let count = min(file.further - file.ending, host.urgent - room)
        guard count > 0 else { continue }
        demands[id] = .connections(count)
        room += count
      }
      for (id, file) in here where !file.isYielding && room < host.urgent {
        demands[id] = .file
        room += 1
        lanes += 1
      }
      ready += min(host.urgent, room)
    }
    for (id, file) in order where lanes < ready && !file.isYielding && demands[id] != .file {
      demands[id] = .file
      lanes += 1
    }
    return demands
  }
}
