import CCurl
import DownloadModel
import Glibc

/// One epoll descriptor and the eventfd that interrupts its wait. Changes of interest reach the kernel just before the
/// wait: libcurl drops and renews its interest around each transfer, and changes that cancel out cost no system call.
struct EventPoll: ~Copyable {
  private let epoll: Descriptor
  private let event: Descriptor
  /// By descriptor: the kernel gives the smallest free number.
  private var slots: [Slot] = []
  private var changed: [Int32] = []
  private var events = [epoll_event](repeating: epoll_event(), count: 256)
  private var looking = BriefLook()
  private(set) var ready: [Ready] = []
  private(set) var connectionCount = 0
  /// The same number by host, for other threads.
  private let openConnections: OpenConnections

  private struct Slot {
    var connection: Connection?
    /// EPOLLIN and EPOLLOUT bits; 0 if the descriptor is not watched.
    var interest: UInt32 = 0
    /// The bits that the kernel has registered; 0 when the descriptor is not in the set.
    var registered: UInt32 = 0
  }

  /// Identifies the connection of a descriptor: libcurl closes a connection that was never established without a
  /// callback (7.88, `cf_socket_close`), and the kernel reuses its number for the next file that is opened.
  private struct Connection: Equatable {
    let host: String
    let device: dev_t
    let inode: ino_t

    init(_ socket: Int32, to host: String) {
      self.host = host
      var status = stat()
      _ = fstat(socket, &status)
      device = status.st_dev
      inode = status.st_ino
    }
  }

  struct Ready {
    let socket: Int32
    /// As libcurl defines them (curl_multi_socket_action(3)).
    let bits: Int32

    fileprivate init(_ socket: Int32, _ mask: UInt32) {
      self.socket = socket
      bits =
        (mask & EPOLLIN.rawValue != 0 ? CURL_CSELECT_IN : 0) | (mask & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0)
        | (mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 ? CURL_CSELECT_ERR : 0)
    }
  }

  init(_ openConnections: OpenConnections = OpenConnections()) throws(CurlFailure) {
    self.openConnections = openConnections
    let epoll = try Descriptor("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    let event = try Descriptor("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    try check("epoll_ctl", dlm_epoll_control(epoll.number, EPOLL_CTL_ADD, event.number, EPOLLIN.rawValue))
    self.epoll = epoll
    self.event = event
  }

  /// Interrupts the wait from any thread. Must not outlive the poll.
  var wakeup: Wakeup { Wakeup(descriptor: event.number) }

  struct Wakeup {
    fileprivate let descriptor: Int32
    func wake() {
      var one: UInt64 = 1
      // EAGAIN means that the counter is full, so the wait is already interrupted.
      _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }
  }

  /// A connection was opened. `forget` must be called before it is closed.
  mutating func connected(_ socket: Int32, to host: String) {
    forget(socket)  // an earlier connection of the same number
    slots[Int(socket)].connection = Connection(socket, to: host)
    connectionCount += 1
    openConnections.change(host, by: 1)
  }

  /// Connections to a host that no transfer uses, and that have nothing to read, neither a byte nor their end.
  mutating func idleConnections(to host: String) -> [Int32] {
    unusedConnections(to: host).filter { !forgetIfClosed($0) && !hasSomethingToRead($0) }
  }

  /// Connections to a host that the server has ended, and that libcurl has not examined since.
  func endedConnections(to host: String) -> [Int32] { unusedConnections(to: host).filter(hasEnded) }

  private func unusedConnections(to host: String) -> [Int32] {
    slots.indices.filter { slots[$0].connection?.host == host && slots[$0].interest == 0 }.map(Int32.init)
  }

  /// - Returns: whether the descriptor was a connection and no longer is; then it is forgotten.
  @discardableResult
  mutating func forgetIfClosed(_ socket: Int32) -> Bool {
    guard let known = slots[slot(of: socket)].connection else { return false }
    if Connection(socket, to: known.host) == known { return false }
    forget(socket)
    return true
  }

  /// Ends all connections, so that nothing waits for their servers.
  func endConnections() {
    for socket in slots.indices where slots[socket].connection != nil { shutdown(Int32(socket), Int32(SHUT_RDWR)) }
  }

  /// It no longer counts as a connection, but is still open.
  mutating func giveUp(_ socket: Int32) {
    guard let connection = slots[slot(of: socket)].connection.take() else { return }
    connectionCount -= 1
    openConnections.change(connection.host, by: -1)
  }

  mutating func setInterest(_ socket: Int32, _ what: Int32) {
    // CURL_POLL_INOUT is both bits; CURL_POLL_REMOVE has none.
    let mask = (what & CURL_POLL_IN != 0 ? EPOLLIN.rawValue : 0) | (what & CURL_POLL_OUT != 0 ? EPOLLOUT.rawValue : 0)
    let index = slot(of: socket)
    if mask == 0, slots[index].connection == nil { return drop(index) }
    if slots[index].interest == mask { return }
    slots[index].interest = mask
    changed.append(socket)
  }

  /// The descriptor is about to be closed, which removes it from the kernel's set; its number may be reused.
  mutating func forget(_ socket: Int32) {
    giveUp(socket)
    slots[Int(socket)] = Slot()
  }

  private mutating func slot(of socket: Int32) -> Int {
    let index = Int(socket)
    if index >= slots.count { slots += Array(repeating: Slot(), count: max(64, index + 1 - slots.count)) }
    return index
  }

  /// No state is kept of descriptors that are no connections (a resolver's pair), because libcurl closes them without a
  /// callback.
  private mutating func drop(_ index: Int) {
    let isKnown = slots[index].registered != 0
    slots[index].interest = 0
    slots[index].registered = 0
    // An error is ignored: the descriptor is already closed, and so no longer in the set.
    if isKnown { _ = dlm_epoll_control(epoll.number, EPOLL_CTL_DEL, Int32(index), 0) }
  }

  /// Each change is removed from the list before it is applied, so that a failing one is not retried forever.
  private mutating func applyInterests() throws(CurlFailure) {
    while let socket = changed.popLast() {
      let index = Int(socket)
      let interest = slots[index].interest
      let known = slots[index].registered
      if interest == known { continue }
      if interest == 0 {
        drop(index)
      } else {
        slots[index].interest = 0
        slots[index].registered = 0
        try register(socket, interest, isKnown: known != 0)
        slots[index].interest = interest
        slots[index].registered = interest
      }
    }
  }

  /// The kernel decides whether the descriptor is in the set, whatever is recorded here.
  private func register(_ socket: Int32, _ mask: UInt32, isKnown: Bool) throws(CurlFailure) {
    let (first, second) = isKnown ? (EPOLL_CTL_MOD, EPOLL_CTL_ADD) : (EPOLL_CTL_ADD, EPOLL_CTL_MOD)
    if dlm_epoll_control(epoll.number, first, socket, mask) == 0 { return }
    guard errno == ENOENT || errno == EEXIST else { throw CurlFailure("epoll_ctl", errno: errno) }
    try check("epoll_ctl", dlm_epoll_control(epoll.number, second, socket, mask))
  }

  func waitForWakeup(_ milliseconds: Int32) throws(CurlFailure) {
    var descriptor = pollfd(fd: event.number, events: Int16(POLLIN), revents: 0)
    let count = poll(&descriptor, 1, milliseconds)
    if count < 0, errno != EINTR { throw CurlFailure("poll", errno: errno) }
    if count > 0 { silence() }
  }

  private func silence() {
    var count: UInt64 = 0
    _ = read(event.number, &count, MemoryLayout<UInt64>.size)  // EAGAIN: already reset
  }

  /// - Parameter isBrief: whether the expected event may come at once (`BriefLook`).
  mutating func wait(_ milliseconds: Int32, isBrief: Bool = false) throws(CurlFailure) {
    ready.removeAll(keepingCapacity: true)
    try applyInterests()
    var count: Int32 = 0
    if isBrief, milliseconds != 0, looking.begins() {
      let end = CurlLoop.now + BriefLook.length
      repeat {
        count = epoll_wait(epoll.number, &events, Int32(events.count), 0)
      } while count == 0 && CurlLoop.now < end
      looking.ended(hasFound: count != 0)
    }
    if count == 0 { count = epoll_wait(epoll.number, &events, Int32(events.count), milliseconds) }
    if count < 0, errno == EINTR { return }
    try check("epoll_wait", count)
    for index in 0..<Int(count) {
      let socket = dlm_epoll_event_descriptor(&events[index])
      let mask = dlm_epoll_event_mask(&events[index])
      if socket == event.number {
        silence()
      } else {
        ready.append(Ready(socket, mask))
      }
    }
  }
}

/// Whether its connection is established, even if the loop is behind and libcurl has not noticed (getpeername(2)).
func isUp(_ socket: Int32) -> Bool {
  var address = sockaddr()
  var length = socklen_t(MemoryLayout<sockaddr>.size)
  return getpeername(socket, &address, &length) == 0
}

/// Whether the peer sends nothing more (POLLRDHUP, which Swift's Glibc module does not export).
private func hasEnded(_ socket: Int32) -> Bool {
  var descriptor = pollfd(fd: socket, events: 0x2000, revents: 0)
  return poll(&descriptor, 1, 0) > 0
}

func hasSomethingToRead(_ socket: Int32) -> Bool {
  var byte: UInt8 = 0
  return recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
}

private func check(_ call: String, _ result: Int32) throws(CurlFailure) {
  if result < 0 { throw CurlFailure(call, errno: errno) }
}

private struct Descriptor: ~Copyable {
  let number: Int32

  init(_ call: String, _ result: Int32) throws(CurlFailure) {
    try check(call, result)
    number = result
  }

  deinit { close(number) }
}

/// Messages from other threads to a loop's thread: jobs, cancellations, connection permits, the request to stop. A
/// thread that adds something wakes the loop only if the loop waits or is about to, so a busy loop costs no system
/// call.
final class LoopInbox: Sendable {
  struct Mail {
    var jobs: [LoopJob] = []
    var cancelled: [Cancellation] = []
    var permits: [ConnectionLimit] = []
    var isHeld = false
    var isStopping = false

    var isEmpty: Bool { jobs.isEmpty && cancelled.isEmpty && permits.isEmpty && !isStopping }
  }

  private struct State {
    var mail = Mail()
    var isWaiting = false
    var hasEnded = false
  }

  private let wakeup: EventPoll.Wakeup
  private let state = Waiters(State())

  init(_ wakeup: EventPoll.Wakeup) { self.wakeup = wakeup }

  /// - Returns: false when the thread has ended: then the caller still has the job.
  func put(_ job: LoopJob) -> Bool {
    change { state in
      if !state.hasEnded { state.mail.jobs.append(job) }
      return !state.hasEnded
    }
  }

  func cancel(_ cancellation: Cancellation) { change { $0.mail.cancelled.append(cancellation) } }

  func keep(_ permits: ConnectionLimit) { change { $0.mail.permits.append(permits) } }

  /// While paused, the sockets are not read. libcurl's own pause loses data on HTTP/2 before 8.4.
  func hold(_ isHeld: Bool) { change { $0.mail.isHeld = isHeld } }

  /// Ends the thread once its jobs are done, then returns. The agent must have released its transfers before.
  func stop() async {
    change { $0.mail.isStopping = true }
    await state.wait({ $0.hasEnded ? () : nil }, onCancel: {})
  }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
    let (value, mustWake) = state.withLock { state in
      let value = body(&state)
      let mustWake = state.isWaiting
      state.isWaiting = false
      return (value, mustWake)
    }
    if mustWake { wakeup.wake() }
    return value
  }

  // MARK: On the loop's thread

  func take() -> Mail {
    state.withLock { state in
      let mail = state.mail
      state.mail = Mail(isHeld: mail.isHeld, isStopping: mail.isStopping)
      state.isWaiting = false
      return mail
    }
  }

  /// Announces a wait: from here on, any addition wakes the loop.
  /// - Returns: false if there is mail, or if pausing or resuming is still to be done.
  func mayWait(isHeld: Bool) -> Bool {
    state.withLock { state in
      state.isWaiting = state.mail.isEmpty && state.mail.isHeld == isHeld
      return state.isWaiting
    }
  }

  /// From here on jobs are refused; returns those that arrived at the last moment.
  func finish() -> [LoopJob] {
    state.withLock { state in
      defer { state.mail.jobs = [] }
      state.hasEnded = true
      return state.mail.jobs
    }
  }
}

/// The connections to a host that a loop may have, idle ones included; `nil` for no limit.
typealias ConnectionLimit = (host: String, count: Int?)
