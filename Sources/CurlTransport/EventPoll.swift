import CCurl
import Glibc

/// One epoll descriptor and the eventfd that interrupts its wait.
///
/// A change of interest in a socket is noted, and passed to the kernel just before the wait: libcurl drops and renews
/// its interest around each transfer on a kept connection, and two changes that cancel out cost no system call.
struct EventPoll: ~Copyable {
  private let epoll: Descriptor
  private let event: Descriptor
  /// Indexed by descriptor: the kernel gives the smallest free number, so there are no more slots than descriptors were
  /// ever open.
  private var slots: [Slot] = []
  private var changed: [Int32] = []
  private var events = [epoll_event](repeating: epoll_event(), count: 256)
  private var looking = BriefLook()

  private struct Slot {
    /// Announced by `connected`, until `forget`.
    var isConnection = false
    /// EPOLLIN and EPOLLOUT bits; nil without an interest in the descriptor.
    var interest: UInt32?
    /// What the kernel has registered; nil when the descriptor is not in the set.
    var registered: UInt32?
  }

  init() throws(SystemFailure) {
    let epoll = try Descriptor("epoll_create1", epoll_create1(Int32(EPOLL_CLOEXEC)))
    let event = try Descriptor("eventfd", eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
    try check("epoll_ctl", dlm_epoll_control(epoll.number, EPOLL_CTL_ADD, event.number, EPOLLIN.rawValue))
    self.epoll = epoll
    self.event = event
  }

  /// A way to interrupt the wait from any thread. It must not outlive the poll.
  var wakeup: Wakeup { Wakeup(descriptor: event.number) }

  struct Wakeup: Sendable {
    fileprivate let descriptor: Int32
    func wake() {
      var one: UInt64 = 1
      // EAGAIN means that the counter is full, so the wait is interrupted already.
      _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }
  }

  /// A connection was opened. `forget` must be called before it is closed.
  mutating func connected(_ socket: Int32) {
    let index = slot(of: socket)
    // Nothing is known of its number, whatever stood under it before.
    slots[index] = Slot(isConnection: true)
  }

  /// Whether it is an open connection that no transfer uses.
  func isIdle(_ socket: Int32) -> Bool {
    let index = Int(socket)
    return slots.indices.contains(index) && slots[index].isConnection && (slots[index].interest ?? 0) == 0
  }

  /// - Parameter mask: EPOLLIN and EPOLLOUT bits; 0 when the socket is of no interest for now.
  mutating func setInterest(_ socket: Int32, _ mask: UInt32) {
    let index = slot(of: socket)
    if mask == 0, !slots[index].isConnection { return drop(index) }
    // A socket without an interest stays as it is if the new interest is none.
    if (slots[index].interest ?? 0) == mask { return }
    slots[index].interest = mask
    changed.append(socket)
  }

  /// The descriptor is about to be closed, which removes it from the kernel's set; its number may be used again.
  mutating func forget(_ socket: Int32) {
    slots[slot(of: socket)] = Slot()
  }

  private mutating func slot(of socket: Int32) -> Int {
    let index = Int(socket)
    if index >= slots.count { slots += Array(repeating: Slot(), count: max(64, index + 1 - slots.count)) }
    return index
  }

  /// libcurl closes descriptors that are not connections (a resolver's pair) without a callback, and the next
  /// connection may get the same number: so nothing of them may be kept.
  private mutating func drop(_ index: Int) {
    let isKnown = slots[index].registered != nil
    (slots[index].interest, slots[index].registered) = (nil, nil)
    // An error is ignored: the descriptor is gone or closed already, and so no longer in the set.
    if isKnown { _ = dlm_epoll_control(epoll.number, EPOLL_CTL_DEL, Int32(index), 0) }
  }

  /// Each change is removed from the list before it is applied, so that a failing one is not retried for ever.
  private mutating func applyInterests() throws(SystemFailure) {
    while let socket = changed.popLast() {
      let index = Int(socket)
      let known = slots[index].registered
      guard let interest = slots[index].interest, interest != known else { continue }
      if interest == 0 {
        drop(index)
      } else {
        (slots[index].interest, slots[index].registered) = (nil, nil)
        try register(socket, interest, isKnown: known != nil)
        (slots[index].interest, slots[index].registered) = (interest, interest)
      }
    }
  }

  /// The kernel decides whether the descriptor is in the set, whatever was noted here.
  private func register(_ socket: Int32, _ mask: UInt32, isKnown: Bool) throws(SystemFailure) {
    let (first, second) = isKnown ? (EPOLL_CTL_MOD, EPOLL_CTL_ADD) : (EPOLL_CTL_ADD, EPOLL_CTL_MOD)
    if dlm_epoll_control(epoll.number, first, socket, mask) == 0 { return }
    guard errno == ENOENT || errno == EEXIST else { throw SystemFailure(call: "epoll_ctl", errno: errno) }
    try check("epoll_ctl", dlm_epoll_control(epoll.number, second, socket, mask))
  }

  /// Waits to be woken; leaves the sockets alone.
  func waitForWakeup(_ milliseconds: Int32) throws(SystemFailure) {
    var descriptor = pollfd(fd: event.number, events: Int16(POLLIN), revents: 0)
    let count = poll(&descriptor, 1, milliseconds)
    if count < 0, errno != EINTR { throw SystemFailure(call: "poll", errno: errno) }
    if count > 0 { silence() }
  }

  private func silence() {
    var count: UInt64 = 0
    _ = read(event.number, &count, MemoryLayout<UInt64>.size)  // EAGAIN: already silenced
  }

  struct Ready {
    var socket: Int32
    var mask: UInt32

    /// The mask in libcurl's terms (curl_multi_socket_action(3)).
    var curlBits: Int32 {
      var bits: Int32 = 0
      if mask & EPOLLIN.rawValue != 0 { bits |= CURL_CSELECT_IN }
      if mask & EPOLLOUT.rawValue != 0 { bits |= CURL_CSELECT_OUT }
      if mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { bits |= CURL_CSELECT_ERR }
      return bits
    }
  }

  /// Waits for sockets, or to be woken.
  /// - Parameters:
  ///   - milliseconds: -1 without limit.
  ///   - isBrief: whether what is waited for may come at once (`BriefLook`).
  ///   - ready: gets the sockets that are ready.
  mutating func wait(
    _ milliseconds: Int32, isBrief: Bool = false, into ready: inout [Ready]
  ) throws(SystemFailure) {
    ready.removeAll(keepingCapacity: true)
    try applyInterests()
    var count: Int32 = 0
    if isBrief, milliseconds != 0, looking.begins() {
      let end = monotonicNanoseconds() + BriefLook.length
      repeat {
        count = epoll_wait(epoll.number, &events, Int32(events.count), 0)
      } while count == 0 && monotonicNanoseconds() < end
      looking.ended(hasFound: count != 0)
    }
    if count == 0 { count = epoll_wait(epoll.number, &events, Int32(events.count), milliseconds) }
    if count < 0 {
      if errno == EINTR { return }
      throw SystemFailure(call: "epoll_wait", errno: errno)
    }
    for index in 0..<Int(count) {
      let socket = dlm_epoll_event_descriptor(&events[index])
      let mask = dlm_epoll_event_mask(&events[index])
      if socket == event.number {
        silence()
      } else {
        ready.append(Ready(socket: socket, mask: mask))
      }
    }
  }
}

/// Whether to look for an answer again and again for a moment before the thread sleeps for it.
///
/// A server on this machine answers in less time than it takes to put a thread to sleep and wake it up, which is a
/// fifth of the time of one small file after the other. Others take longer, so after each look in vain twice as many
/// answers are slept for as after the last.
struct BriefLook {
  private var failures = 0
  private var left = 0

  /// In nanoseconds.
  static let length: UInt64 = 100_000
  private static let most = 10

  mutating func begins() -> Bool {
    if left == 0 { return true }
    left -= 1
    return false
  }

  mutating func ended(hasFound: Bool) {
    failures = hasFound ? 0 : min(failures + 1, Self.most)
    left = hasFound ? 0 : 1 << failures
  }
}

/// Whether a socket has bytes to read, or the end of the other side.
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
