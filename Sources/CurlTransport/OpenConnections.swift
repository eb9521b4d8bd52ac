import Glibc

/// The descriptors that are connections of one loop, with the host of each.
///
/// libcurl tells when it opens a connection. When it closes one it tells only if that ever came up: one whose transfer
/// is removed while it connects, or that lost against another address of its host, is closed without a word (7.88,
/// `cf_socket_close`). The kernel then gives its number to whatever is opened next, by another loop or for a file. So
/// each descriptor is remembered with what the kernel calls it, and one that is something else by now is forgotten.
///
/// The story: an address that did not answer was counted as an idle connection for ever, so a host that takes three
/// connections was said to take four, and the loop of the fourth asked in vain until the server closed the others, a
/// minute later. It could also end what another loop had under the same number.
struct OpenConnections {
  /// What stands behind a descriptor.
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t

    /// - Returns: nil if the descriptor is closed.
    init?(of descriptor: Int32) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { return nil }
      (device, inode) = (status.st_dev, status.st_ino)
    }
  }

  private struct Connection {
    let host: String
    let identity: Identity?
  }

  private var connections: [Int32: Connection] = [:]

  /// How many are open, idle ones included.
  var count: Int { connections.count }

  mutating func opened(_ socket: Int32, to host: String) {
    connections[socket] = Connection(host: host, identity: Identity(of: socket))
  }

  mutating func closed(_ socket: Int32) { connections[socket] = nil }

  /// - Returns: whether the descriptor was a connection and is none any more; then it is forgotten.
  mutating func forgetIfClosed(_ socket: Int32) -> Bool {
    guard let connection = connections[socket], Identity(of: socket) != connection.identity else { return false }
    connections[socket] = nil
    return true
  }

  /// Connections to a host that were open when last looked at.
  func sockets(to host: String) -> [Int32] {
    connections.filter { $0.value.host == host }.map(\.key)
  }
}
