import DownloadModel
import Synchronization

/// A host's places for further connections of a file that has one already.
struct HostPlaces: Sendable {
  let queue: HostQueue
  let host: String
  let share: Int

  /// - Returns: false if the host has no room, or files wait for it: they go first.
  func take() -> Bool { queue.takePlace(at: host, share) }

  func giveBack() { queue.giveBackPlace(at: host, share) }

  /// The host refused the further connection.
  func refused(_ error: DownloadError) { queue.refusedPlace(at: host, share, error) }
}

extension HostQueue {
  func takePlace(at name: String, _ share: Int) -> Bool {
    state.withLock { state in
      guard let host = state.hosts[name], !host.isWaitedFor, host.pace.hasRoom(at: elapsed()),
        widths.count == 1 || host.inUse[share] < host.quota(of: share)
      else { return false }
      host.inUse[share] += 1
      host.pace.begin()
      return true
    }
  }

  func giveBackPlace(at name: String, _ share: Int) {
    change { state in
      guard let host = state.hosts[name] else { return }
      host.inUse[share] -= 1
      host.pace.drop()
    }
  }

  func refusedPlace(at name: String, _ share: Int, _ error: DownloadError) {
    let (now, random) = (elapsed(), random())
    change { state in
      guard let host = state.hosts[name] else { return }
      host.inUse[share] -= 1
      // Whether the host is worth asking at all is seen by the files themselves.
      _ = host.pace.refuse(error, at: now, retry, random: random)
      tell(host)
    }
  }
}
