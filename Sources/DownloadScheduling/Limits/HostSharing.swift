/// State that the hosts of a run share with other processes. Belongs to one `RequestQueueState`.
final class HostSharing {
  let notes: any HostNotes
  let isBackground: Bool
  /// Connections of each share to a host, idle ones included; empty if unknown.
  let connections: @Sendable (_ host: String) -> [Int]
  /// Hosts whose notes must be updated.
  var touched: [QueuedHost] = []
  /// When idle connections are counted again; `nil` without idle connections.
  var looksAtIdle: Duration?

  init(
    _ notes: any HostNotes, isBackground: Bool, connections: @escaping @Sendable (_ host: String) -> [Int] = { _ in [] }
  ) {
    self.notes = notes
    self.isBackground = isBackground
    self.connections = connections
  }
}
