/// What has happened at an origin so far.
public struct OriginRecord: Sendable, Equatable {
  /// Every request whose head arrived, in order.
  public var log: [Seen] = []
  /// Body bytes given to the kernel, per path as sent. What the client has received may be less.
  public var bodyBytesSent: [String: Int] = [:]
  public var connectionsOpened = 0
  /// Connections that neither side has closed, as far as the origin has noticed.
  public var connectionsOpen = 0
  /// Requests under way: from the arrival of the head until just before the last byte of the answer goes out.
  public var inFlight = 0
  /// Never too high: a client with N requests at a time never shows more than N here.
  public var greatestInFlight = 0

  public func requests(to path: String) -> [Seen] { log.filter { $0.path == path } }
}
