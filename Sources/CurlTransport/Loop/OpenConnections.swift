import DownloadModel
import Synchronization

/// The number of open connections of a loop to each host (`Address.hostAndPort`), idle ones included. Its lock is taken
/// once for each connection, not for each file.
final class OpenConnections: Sendable {
  private let counts = Lock<[String: Int]>([:])

  func change(_ host: String, by difference: Int) {
    counts.withLock { counts in
      let count = counts[host, default: 0] + difference
      counts[host] = count == 0 ? nil : count
    }
  }

  func count(_ host: String) -> Int { counts.withLock { $0[host] ?? 0 } }
}
