import Glibc
package import SystemPackage

/// A stream socket of this machine (unix(7)), non-blocking, closed when it is released.
struct UnixSocket: ~Copyable {
  let raw: Int32

  /// The most bytes of a socket's path.
  static let longestPath = 107

  private init(raw: Int32) { self.raw = raw }

  private init() throws(Errno) {
    raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
  }

  deinit { if raw >= 0 { close(raw) } }

  /// Listens at a path, which only this user may open.
  static func listening(at path: FilePath) throws(Errno) -> UnixSocket {
    let socket = try UnixSocket()
    // Left by a killed run of that number.
    remove(path)
    try socket.use(path) { bind(socket.raw, $0, $1) }
    guard chmod(path.string, 0o600) == 0, listen(socket.raw, 16) == 0 else { throw Errno(rawValue: errno) }
    return socket
  }

  /// Removes a socket of this user, and nothing else.
  static func remove(_ path: FilePath) {
    var status = stat()
    guard lstat(path.string, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
      return
    }
    unlink(path.string)
  }

  /// - Throws: `.connectionRefused` or `.noSuchFileOrDirectory` if no process listens there; `.notPermitted` if another
  ///   user does.
  static func connected(to path: FilePath) throws(Errno) -> UnixSocket {
    let socket = try UnixSocket()
    try socket.use(path) { connect(socket.raw, $0, $1) }
    guard socket.isOfThisUser else { throw .notPermitted }
    return socket
  }

  /// - Returns: `nil` if no connection is waiting.
  func accepted() throws(Errno) -> UnixSocket? {
    let found = accept(raw, nil, nil)
    if found >= 0 {
      _ = fcntl(found, F_SETFD, FD_CLOEXEC)
      _ = fcntl(found, F_SETFL, O_NONBLOCK)
      return UnixSocket(raw: found)
    }
    if [EAGAIN, EINTR, ECONNABORTED].contains(errno) { return nil }
    throw Errno(rawValue: errno)
  }

  /// Whether this user's process is at the other end.
  var isOfThisUser: Bool {
    // struct ucred: process, user, group.
    var peer = [UInt32](repeating: .max, count: 3)
    var size = socklen_t(MemoryLayout<UInt32>.stride * peer.count)
    return getsockopt(raw, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer[1] == geteuid()
  }

  private func use(
    _ path: FilePath, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(Errno) {
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.string.utf8)
    guard bytes.count <= Self.longestPath else { throw .fileNameTooLong }
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: bytes) }
    let result = withUnsafePointer(to: place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
    guard result == 0 else { throw Errno(rawValue: errno) }
  }

  /// - Returns: empty at the end; `nil` if nothing has arrived yet.
  func read() throws(Errno) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = Glibc.read(raw, &bytes, bytes.count)
    if count >= 0 { return Array(bytes.prefix(count)) }
    if errno == EAGAIN || errno == EINTR { return nil }
    throw Errno(rawValue: errno)
  }

  /// - Returns: how many bytes were taken, 0 if there is no room.
  func write(_ bytes: ArraySlice<UInt8>) throws(Errno) -> Int {
    let count = bytes.withUnsafeBytes { send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count >= 0 { return count }
    if errno == EAGAIN || errno == EINTR { return 0 }
    throw Errno(rawValue: errno)
  }
}
