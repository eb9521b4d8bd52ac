import DownloadModel
import Glibc
import Synchronization
package import SystemPackage

/// The socket at which other processes of the user watch this run and give it commands: lines of JSON. One thread reads
/// and writes for all of them, and never waits for one.
package final class RunDoor: Sendable {
  package let path: FilePath
  private let place: DoorPlace
  private let loop: DoorLoop
  private let pipe: WakePipe

  /// Visitors can come from now on, and wait until it is served.
  /// - Parameters:
  ///   - number: of the run.
  ///   - records: the folder of the records.
  ///   - runtime: XDG_RUNTIME_DIR.
  /// - Throws: if no place takes a socket.
  init(of number: Int, in records: FilePath, runtime: String?) throws(Errno) {
    pipe = try WakePipe()
    let places = DoorPlace.all(of: number, runtime: runtime, records: records)
    var failure = Errno.fileNameTooLong
    for place in places + [DoorPlace.temporary()].compactMap(\.self) {
      do {
        loop = DoorLoop(try UnixSocket.listening(at: place.path), pipe)
        self.place = place
        path = place.path
        return
      } catch {
        failure = error
        place.remove()
      }
    }
    throw failure
  }

  /// Serves until `close()`, then until each visitor has taken what was sent, for a second at most.
  package func run(_ serve: @escaping @Sendable (DoorVisitor) async -> Void) async {
    let (visitors, arrived) = AsyncStream<DoorVisitor>.makeStream()
    await withDiscardingTaskGroup { group in
      group.addTask { [loop] in
        await loop.run { arrived.yield($0) }
        arrived.finish()
      }
      for await visitor in visitors { group.addTask { await serve(visitor) } }
    }
    place.remove()
  }

  package func close() { loop.close() }
}

/// An actor on a thread of its own, because it waits for all sockets at once.
private actor DoorLoop {
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.door")
  private let listener: UnixSocket
  private let pipe: WakePipe
  private var guests: [Guest] = []
  private nonisolated let isClosing = Atomic(false)
  /// Whether the process has no descriptor left: then no visitor is accepted for a second.
  private var isFull = false

  private static let most = 32
  private static let lastWait: Int32 = 1000

  private final class Guest {
    let socket: UnixSocket
    let visitor: DoorVisitor
    init(_ socket: consuming UnixSocket, _ visitor: DoorVisitor) {
      self.socket = socket
      self.visitor = visitor
    }
  }

  init(_ listener: consuming sending UnixSocket, _ pipe: WakePipe) {
    self.listener = listener
    self.pipe = pipe
  }

  nonisolated func close() {
    isClosing.store(true, ordering: .releasing)
    pipe.wake()
  }

  func run(_ arrive: (DoorVisitor) -> Void) {
    while !isClosing.load(ordering: .acquiring) { turn(arrive, within: isFull ? Self.lastWait : -1) }
    let end = ContinuousClock.now + .milliseconds(Int64(Self.lastWait))
    while guests.contains(where: { !$0.visitor.isReady }), .now < end { turn({ _ in }, within: 50) }
    for guest in guests { guest.visitor.close() }
    guests = []
  }

  private func turn(_ arrive: (DoorVisitor) -> Void, within milliseconds: Int32) {
    let listens = !isFull && !isClosing.load(ordering: .acquiring)
    var wanted = [
      pollfd(fd: pipe.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: listens ? listener.raw : -1, events: Int16(POLLIN), revents: 0),
    ]
    for guest in guests {
      let events = (guest.visitor.wantsToRead ? POLLIN : 0) | (guest.visitor.isReady ? 0 : POLLOUT)
      wanted.append(pollfd(fd: guest.socket.raw, events: Int16(events), revents: 0))
    }
    _ = poll(&wanted, nfds_t(wanted.count), milliseconds)
    isFull = false
    if wanted[0].revents != 0 { pipe.drain() }
    let gone = zip(guests, wanted.dropFirst(2)).filter { !serve($0, Int32($1.revents)) }.map(\.0)
    for guest in gone { guest.visitor.close() }
    guests.removeAll { guest in gone.contains { $0 === guest } }
    if wanted[1].revents != 0 { letIn(arrive) }
  }

  /// - Returns: false once it has gone, or has sent a line that is too long.
  private func serve(_ guest: Guest, _ events: Int32) -> Bool {
    do throws(Errno) {
      if events & POLLOUT != 0 { try guest.visitor.flush { bytes throws(Errno) in try guest.socket.write(bytes) } }
      // Also without POLLIN: it has hung up.
      guard events & (POLLIN | POLLHUP | POLLERR) != 0, let bytes = try guest.socket.read() else { return true }
      return !bytes.isEmpty && guest.visitor.receive(bytes)
    } catch { return false }
  }

  private func letIn(_ arrive: (DoorVisitor) -> Void) {
    do throws(Errno) {
      while let socket = try listener.accepted() {
        // Another user, who can get here only through a mistake in the folder's rights.
        guard socket.isOfThisUser else { continue }
        guard guests.count < Self.most else {
          _ = try socket.write(Array("{\"type\":\"error\",\"error\":\"too many connections\"}\n".utf8)[...])
          continue
        }
        let visitor = DoorVisitor { [pipe] in pipe.wake() }
        guests.append(Guest(socket, visitor))
        arrive(visitor)
      }
    } catch { isFull = error == .tooManyOpenFiles || error == .tooManyOpenFilesInSystem }
  }
}
