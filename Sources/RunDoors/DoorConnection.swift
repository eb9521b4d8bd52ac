package import DownloadModel
import FileReceiving
import Glibc
import Synchronization
package import SystemPackage

/// A connection to the door of a run in another process. Its calls block, so they are not for the pool's threads.
package final class DoorConnection: Sendable {
  private let socket: UnixSocket
  private let received = Lock<[UInt8]>([])
  private let sending = Lock(())

  /// - Throws: `.connectionRefused` or `.noSuchFileOrDirectory` if the run has ended; `.notPermitted` if another user
  ///   listens there.
  package init(to path: FilePath) throws(Errno) { socket = try UnixSocket.connected(to: path) }

  /// - Throws: `.timedOut` if the run takes nothing for five seconds.
  package func send(_ fields: JSONFields) throws(Errno) {
    let bytes = Array((JSONValue(fields).text + "\n").utf8)
    try sending.withLock { _ throws(Errno) in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = try socket.write(rest)
        rest = rest.dropFirst(count)
        if count == 0, !wait(for: POLLOUT, within: 5000) { throw .timedOut }
      }
    }
  }

  /// One caller at a time.
  /// - Parameter milliseconds: -1 for no limit.
  /// - Returns: the next line; `nil` if none has arrived in time.
  /// - Throws: `.connectionReset` once the run has closed the door.
  package func line(within milliseconds: Int32) throws(Errno) -> [UInt8]? {
    while true {
      let line = received.withLock { received -> [UInt8]? in
        guard let end = received.firstIndex(of: .newline) else { return nil }
        defer { received.removeFirst(end + 1) }
        return Array(received[..<end])
      }
      if let line { return line }
      guard wait(for: POLLIN, within: milliseconds) else { return nil }
      if let bytes = try socket.read() {
        if bytes.isEmpty { throw .connectionReset }
        received.withLock { $0 += bytes }
      }
    }
  }

  private func wait(for events: Int32, within milliseconds: Int32) -> Bool {
    var wanted = pollfd(fd: socket.raw, events: Int16(events), revents: 0)
    return poll(&wanted, 1, milliseconds) > 0
  }
}
