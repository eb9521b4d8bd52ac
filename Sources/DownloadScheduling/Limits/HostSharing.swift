import DownloadModel

/// What the hosts of a run have in common towards other processes. Belongs to one `RequestQueueState`.
final class HostSharing {
  let notes: any HostNotes
  let isBackground: Bool
  /// How many each share has open to a host, idle ones included; empty if unknown.
  let connections: @Sendable (_ host: String) -> [Int]
  /// Hosts of which there is something to tell.
  var touched: [QueuedHost] = []
  /// When idle connections are counted again; nil without any.
  var looksAtIdle: Duration?

  init(
    _ notes: any HostNotes, isBackground: Bool, connections: @escaping @Sendable (_ host: String) -> [Int] = { _ in [] }
  ) {
    (self.notes, self.isBackground, self.connections) = (notes, isBackground, connections)
  }
}
