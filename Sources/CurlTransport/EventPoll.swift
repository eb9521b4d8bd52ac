import CCurl
import Glibc

/// One epoll descriptor and the eventfd that interrupts its wait.
///
/// Interest in a socket is kept as a wish and made true just before the wait: libcurl drops and renews its
/// interest around each transfer on a kept connection, and two wishes that cancel out cost no system call.
struct EventPoll: ~Copyable {
  private let epoll: Descriptor
  private let wakeup: Descriptor
  /// By descriptor: the kernel gives the smallest that is free, so there are no more than were ever open.
  private var slots: [Slot] = []
  private var changed: [Int32] = []
  /// Connections that are open.
  private(set) var connectionCount = 0
  private var events = [epoll_event](repeating: epoll_event(), count: 256)

  private struct Slot {
    /// Announced by `connected`, until `forget`.
    var isConnection = false
    /// EPOLLIN and EPOLLOUT bits; nil when nobody has an interest in the descriptor.
    var wanted: UInt32?
    /// What the kernel knows; nil when the descriptor is not in the set.
    var registered: UInt32?
  }

  init() throws(SystemFailure) {
    let epoll = try Descriptor("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    let wakeup = try Descriptor("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    try check("epoll_ctl", dlm_epoll_control(epoll.number, EPOLL_CTL_ADD, wakeup.number, EPOLLIN.rawValue))
    self.epoll = epoll
    self.wakeup = wakeup
  }

  /// A way to interrupt the wait from any thread. It must not outlive the poll.
  var alarm: Alarm { Alarm(descriptor: wakeup.number) }

  struct Alarm: Sendable {
    fileprivate let descriptor: Int32
    func ring() {
      var one: UInt64 = 1
      // EAGAIN means that the counter is full, thus that it rings already.
      _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }
  }

  /// A connection was opened: its end will be announced (`forget`) before it is closed.
  mutating func connected(_ socket: Int32) {
    let index = slot(of: socket)
    if !slots[index].isConnection { connectionCount += 1 }
    slots[index].isConnection = true
  }

  /// Whether it is an open connection that no transfer has now.
  func isIdle(_ socket: Int32) -> Bool {
    let index = Int(socket)
    return slots.indices.contains(index) && slots[index].isConnection && (slots[index].wanted ?? 0) == 0
  }

  /// - Parameter mask: EPOLLIN and EPOLLOUT bits; 0 when the socket is of no interest for now.
  mutating func wish(_ socket: Int32, _ mask: UInt32) {
    let index = slot(of: socket)
    if mask == 0, !slots[index].isConnection { return drop(index) }
    // Of one that nobody had an interest in, none is no news.
    if (slots[index].wanted ?? 0) == mask { return }
    slots[index].wanted = mask
    changed.append(socket)
  }

  /// The descriptor is about to be closed, which takes it out of the kernel's set; its number may come back.
  mutating func forget(_ socket: Int32) {
    let index = slot(of: socket)
    if slots[index].isConnection { connectionCount -= 1 }
    slots[index] = Slot()
  }

  private mutating func slot(of socket: Int32) -> Int {
    let index = Int(socket)
    if index >= slots.count { slots += Array(repeating: Slot(), count: max(64, index + 1 - slots.count)) }
    return index
  }

  /// What is no connection (a resolver's pair) libcurl closes without a word, and its number may be the next
  /// connection's: nothing of it may be kept for later.
  private mutating func drop(_ index: Int) {
    let isKnown = slots[index].registered != nil
    (slots[index].wanted, slots[index].registered) = (nil, nil)
    // Gone already, or closed, which does the same.
    if isKnown { _ = dlm_epoll_control(epoll.number, EPOLL_CTL_DEL, Int32(index), 0) }
  }

  /// Each wish is taken off the list before it is acted on: one that fails is not tried for ever.
  private mutating func applyWishes() throws(SystemFailure) {
    while let socket = changed.popLast() {
      let index = Int(socket)
      let known = slots[index].registered
      guard let wanted = slots[index].wanted, wanted != known else { continue }
      if wanted == 0 {
        drop(index)
      } else {
        (slots[index].wanted, slots[index].registered) = (nil, nil)
        try register(socket, wanted, isKnown: known != nil)
        (slots[index].wanted, slots[index].registered) = (wanted, wanted)
      }
    }
  }

  /// The kernel's word counts, not ours, on whether the descriptor is in the set.
  private func register(_ socket: Int32, _ mask: UInt32, isKnown: Bool) throws(SystemFailure) {
    let (first, second) = isKnown ? (EPOLL_CTL_MOD, EPOLL_CTL_ADD) : (EPOLL_CTL_ADD, EPOLL_CTL_MOD)
    if dlm_epoll_control(epoll.number, first, socket, mask) == 0 { return }
    guard errno == ENOENT || errno == EEXIST else { throw SystemFailure(call: "epoll_ctl", errno: errno) }
    try check("epoll_ctl", dlm_epoll_control(epoll.number, second, socket, mask))
  }

  /// Waits for the alarm alone: the sockets are left as they are.
  func waitForAlarm(_ milliseconds: Int32) throws(SystemFailure) {
    var descriptor = pollfd(fd: wakeup.number, events: Int16(POLLIN), revents: 0)
    let count = poll(&descriptor, 1, milliseconds)
    if count < 0, errno != EINTR { throw SystemFailure(call: "poll", errno: errno) }
    if count > 0 { silence() }
  }

  private func silence() {
    var rung: UInt64 = 0
    _ = read(wakeup.number, &rung, MemoryLayout<UInt64>.size)  // EAGAIN: already silenced
  }

  struct Ready {
    var socket: Int32
    var mask: UInt32
  }

  /// Waits for sockets or the alarm.
  /// - Parameter milliseconds: -1 without limit.
  /// - Returns: the ready sockets, without the alarm itself.
  mutating func wait(_ milliseconds: Int32, into ready: inout [Ready]) throws(SystemFailure) {
    ready.removeAll(keepingCapacity: true)
    try applyWishes()
    let count = epoll_wait(epoll.number, &events, Int32(events.count), milliseconds)
    if count < 0 {
      if errno == EINTR { return }
      throw SystemFailure(call: "epoll_wait", errno: errno)
    }
    for index in 0..<Int(count) {
      let socket = dlm_epoll_event_descriptor(&events[index])
      let mask = dlm_epoll_event_mask(&events[index])
      if socket == wakeup.number {
        silence()
      } else {
        ready.append(Ready(socket: socket, mask: mask))
      }
    }
  }
}

/// Whether a socket has bytes for its reader, or the other side's end.
func hasSomethingToRead(_ socket: Int32) -> Bool {
  var byte: UInt8 = 0
  return recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
}

/// A system call of the loop that failed.
struct SystemFailure: Error {
  var call: String
  var errno: Int32
}

private func check(_ call: String, _ result: Int32) throws(SystemFailure) {
  if result < 0 { throw SystemFailure(call: call, errno: errno) }
}

/// A file descriptor that is closed with its owner.
private struct Descriptor: ~Copyable {
  let number: Int32

  init(_ call: String, _ result: Int32) throws(SystemFailure) {
    try check(call, result)
    number = result
  }

  deinit { close(number) }
}

extension EventPoll.Ready {
  /// The mask in libcurl's terms (curl_multi_socket_action(3)).
  var curlBits: Int32 {
    var bits: Int32 = 0
    if mask & EPOLLIN.rawValue != 0 { bits |= CURL_CSELECT_IN }
    if mask & EPOLLOUT.rawValue != 0 { bits |= CURL_CSELECT_OUT }
    if mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { bits |= CURL_CSELECT_ERR }
    return bits
  }
}
