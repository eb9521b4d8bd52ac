import CCurl
import Dispatch
import DownloadModel
import Glibc
import Synchronization

// Long because: everything that uses the multi handle and the poll is private to the loop.

/// One thread, one epoll descriptor and one multi handle; the serial executor of `CurlAgent` and, through
/// `LoopTaskExecutor`, of the tasks that download.
///
/// Jobs, sockets and timers take turns on the thread. A download that prefers this executor runs here from the strategy
/// to the last byte on disk, so a file costs no thread hop. The index, the renderer and everything that may wait run
/// elsewhere.
///
/// `@unchecked Sendable` is sound because: `inbox`, `lateJobs`, `stallWatch` and `rateLimit` are Sendable and `owner`
/// is an Atomic. Every other property is written before the thread starts, and after that is used on the thread alone:
/// by its turns, by libcurl's callbacks, which the turns cause, and by the agent, whose executor this is. The methods
/// that the callbacks and the agent call assert it (`assertOnLoop`). Jobs of the agent that come after the thread's end
/// run one at a time, and after everything that the thread did with these properties (the inbox's lock orders them).
final class CurlLoop: SerialExecutor, @unchecked Sendable {
  private let inbox: LoopInbox
  private let owner = Atomic<pthread_t>(0)
  private let lateJobs = DispatchQueue(label: "dlm.curl-loop.late")
  private var poll: EventPoll
  private var multi: MultiHandle
  private var ready: [LoopJob] = []
  private var sockets: [EventPoll.Ready] = []
  private var due: UInt64?
  private let stallWatch: StallWatch
  private var lastLook: UInt64?  // at the transfers; nil while there are none
  /// The first of the transfers whose body is only drained, or that wait for a connection to share.
  private var deadline: UInt64?
  private var watchAt: UInt64?  // next look at requests without an answer; nil while no connection is new
  private var connections = OpenConnections()
  private static let watchInterval: UInt64 = 10_000_000
  private let rateLimit: RateLimiter?
  /// The socket that was last read from under a rate limit.
  private var lastInTurn: Int32 = -1
  private var heldSince: UInt64?  // nil while transfers are not held
  /// How many turns it has made.
  private(set) var turns: UInt64 = 0
  private var isBehind = false
  /// Whether the next wait is the one for the answer to the only request.
  private var isAlone = false
  private var agent: CurlAgent?
  /// Refers back to this loop, so both live until the thread ends.
  private var tasks: LoopTaskExecutor?

  init(_ stallWatch: StallWatch, _ rateLimit: RateLimiter? = nil) throws {
    self.stallWatch = stallWatch
    self.rateLimit = rateLimit
    poll = try EventPoll()
    multi = try MultiHandle()
    inbox = LoopInbox(poll.wakeup)
    try multi.onSocket(curlSocketInterestDidChange, context: callbackContext)
    try multi.onTimer(curlTimerDidChange, context: callbackContext)
  }

  /// Starts the thread. Called once, before anything is enqueued.
  func start(_ agent: CurlAgent, _ tasks: LoopTaskExecutor, keepingConnections count: Int) throws {
    self.agent = agent
    self.tasks = tasks
    try multi.set(CURLMOPT_MAXCONNECTS, count)
    var thread = pthread_t()
    let retained = Unmanaged.passRetained(self)  // the thread's last line releases it
    let code = pthread_create(&thread, nil, curlLoopThread, retained.toOpaque())
    guard code == 0 else {
      retained.release()
      (self.agent, self.tasks) = (nil, nil)
      throw SystemFailure(call: "pthread_create", errno: code)
    }
    pthread_detach(thread)
  }

  /// Ends the thread once its jobs are done. The agent must have released its transfers before.
  func stop() async { await inbox.stop() }

  var isOnLoop: Bool { owner.load(ordering: .relaxed) == pthread_self() }

  /// For code that must run on the thread, or as a late job, which run one at a time.
  private func assertOnLoop() { assert(isOnLoop || inbox.hasEnded, "not on the curl loop's thread") }

  /// The context that libcurl passes to the callbacks of this loop. Valid while the loop lives, and the loop's thread
  /// keeps it alive until the multi handle is closed.
  var callbackContext: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  // MARK: Executor

  func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

  func enqueue(_ job: LoopJob) {
    if isOnLoop {
      ready.append(job)
    } else if !inbox.put(job) {
      runLate(job)
    }
  }

  /// Runs a job that arrives after the thread has ended, since its task would otherwise wait for ever. Such jobs still
  /// run one after the other.
  private func runLate(_ job: LoopJob) {
    lateJobs.async { job.run(serial: self.asUnownedSerialExecutor(), preferred: nil) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  func checkIsolated() { precondition(isOnLoop, "not on the curl loop's thread") }
  func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  /// Requests the end of a transfer, from any thread. Does nothing if the transfer has ended.
  func cancel(_ cancellation: Cancellation) { inbox.cancel(cancellation) }

  /// Leaves all transfers alone, or lets them go on; from any thread.
  ///
  /// As under a rate limit the sockets are not read, and the kernels and servers wait. libcurl's own pause
  /// (curl_easy_pause) loses data on HTTP/2 before 8.4.
  func hold(_ isHeld: Bool) { inbox.hold(isHeld) }

  /// Sets how many connections to a host this loop may have, from any thread.
  func keep(_ permits: ConnectionLimit) { inbox.keep(permits) }

  // MARK: On the thread

  func add(_ easy: borrowing EasyHandle) throws(MultiFailure) {
    assertOnLoop()
    try multi.add(easy)
    if lastLook == nil { lastLook = Self.now }
  }

  /// How many connections are open, idle ones included.
  var connectionCount: Int {
    assertOnLoop()
    return connections.count
  }

  /// Makes the loop check its transfers at that time: the body of one is only drained, or some wait for a connection to
  /// share.
  func look(at time: UInt64) {
    assertOnLoop()
    deadline = min(deadline ?? time, time)
  }

  /// The only transfer has begun, so that nothing else can be done before it is answered.
  func expectsAnswer() {
    assertOnLoop()
    isAlone = true
  }

  /// In the next turn, bodies are decoded further that became more than one turn may decode.
  func decodesOn() {
    assertOnLoop()
    isBehind = true
  }

  func remove(_ easy: borrowing EasyHandle) throws(MultiFailure) {
    assertOnLoop()
    try multi.remove(easy)
  }

  fileprivate func runThread() {
    owner.store(pthread_self(), ordering: .relaxed)
    while turn() {}
    multi.close()
    (agent, tasks) = (nil, nil)
    owner.store(0, ordering: .relaxed)
    let last = ready
    ready = []
    for job in last + inbox.finish() { runLate(job) }
  }

  /// Jobs, then timers, then ended transfers, then sockets.
  /// - Returns: false when the loop must end.
  private func turn() -> Bool {
    turns += 1
    if takeInbox() { return false }
    runJobs()
    decodeOn()
    actOnTimers()
    deliverFinished()
    wait()
    endStalled()
    endWaits()
    watchUnanswered()
    return true
  }

  private func takeInbox() -> Bool {
    let delivery = inbox.take()
    ready += delivery.jobs
    if !delivery.cancelled.isEmpty { agent?.assumeIsolated { $0.cancel(delivery.cancelled) } }
    if !delivery.permits.isEmpty { agent?.assumeIsolated { $0.keep(delivery.permits) } }
    if delivery.isHeld != (heldSince != nil) { take(hold: delivery.isHeld) }
    return delivery.isStopping && ready.isEmpty
  }

  private func take(hold isHeld: Bool) {
    let now = Self.now
    guard let since = heldSince else { return heldSince = now }
    heldSince = nil
    let time = now - since
    agent?.assumeIsolated { $0.wereHeld(for: time) }
    lastLook = lastLook.map { _ in now }
    deadline = deadline.map { $0 + time }
    watchAt = watchAt.map { $0 + time }
  }

  /// Jobs create jobs, so at most 512 run before sockets get their turn, and neither starves.
  private func runJobs() {
    let (serial, preferred) = (asUnownedSerialExecutor(), tasks?.asUnownedTaskExecutor())
    var index = 0
    while index < ready.count, index < 512 {
      ready[index].run(serial: serial, preferred: preferred)
      index += 1
    }
    ready.removeFirst(index)
  }

  private func decodeOn() {
    guard isBehind, pause == 0 else { return }
    isBehind = false  // what follows may set it
    agent?.assumeIsolated { $0.decodeOn() }
  }

  private func actOnTimers() {
    // A timer also reads where more bytes are there than one turn may take; so under a rate limit it waits like the
    // sockets.
    guard let due, due <= Self.now, pause == 0 else { return }
    self.due = nil
    act(on: CURL_SOCKET_TIMEOUT, 0)
  }

  private func endStalled() {
    guard let lastLook else { return }
    let now = Self.now
    guard now >= lastLook + stallWatch.interval else { return }
    // Transfers that the rate limit holds back have not stalled.
    let time = pause > 0 ? 0 : stallWatch.counted(now - lastLook)
    let goesOn = agent?.assumeIsolated { $0.endStalled(stallWatch, after: time) } ?? false
    self.lastLook = goesOn ? now : nil
  }

  private func endWaits() {
    guard let due = deadline, heldSince == nil else { return }
    let now = Self.now
    guard due <= now else { return }
    deadline = nil  // what begins below may set another
    let next = agent?.assumeIsolated { [$0.endDrained(at: now), $0.endSharingWaits(at: now)] } ?? []
    for time in next.compactMap(\.self) { look(at: time) }
  }

  private func watchUnanswered() {
    guard let time = watchAt, heldSince == nil else { return }
    let now = Self.now
    guard time <= now else { return }
    // If the loop was held up, answers may be waiting, so the time counts only in part.
    let goesOn =
      agent?.assumeIsolated {
        $0.watchUnanswered(after: min(now - time, Self.watchInterval) + Self.watchInterval)
      }
      ?? false
    watchAt = goesOn ? now + Self.watchInterval : nil
  }

  private func act(on socket: Int32, _ bits: Int32) {
    do throws(MultiFailure) {
      try multi.act(on: socket, bits)
    } catch {
      agent?.assumeIsolated { $0.failAll(error.message) }
    }
  }

  private func deliverFinished() {
    // Under a rate limit a transfer ends only when its bytes are paid for: otherwise many short ones would come in one
    // burst, and a run could end before its last byte was due.
    if pause > 0 { return }
    while let (easy, code) = multi.nextFinished() {
      // The handle's address is passed as a number, by which the agent finds its transfer.
      let address = UInt(bitPattern: easy)
      agent?.assumeIsolated { $0.finish(address, code) }
    }
  }

  private func wait() {
    let pause = pause
    let mayWait = ready.isEmpty && (!isBehind || pause > 0) && inbox.mayWait(isHeld: heldSince != nil)
    do throws(SystemFailure) {
      if pause > 0 {
        return mayWait ? try poll.waitForWakeup(Int32(clamping: (pause + 999_999) / 1_000_000)) : ()
      }
      // A timer that is due already (a transfer was just added) comes before the sockets.
      if let due, due <= Self.now, mayWait { return }
      try poll.wait(mayWait ? millisecondsUntilDue : 0, isBrief: isAlone, into: &sockets)
      isAlone = false
    } catch {
      let message = "\(error.call): \(String(cString: strerror(error.errno)))"
      agent?.assumeIsolated { $0.failAll(message) }
    }
    if rateLimit == nil {
      for socket in sockets { act(on: socket.socket, socket.curlBits) }
    } else {
      actInTurn()
    }
    deliverFinished()
  }

  /// Acts on one socket after the other until the rate limit is reached. The remaining sockets are ready again next
  /// time, and then come first.
  private func actInTurn() {
    let start = sockets.firstIndex { $0.socket == lastInTurn }.map { $0 + 1 } ?? 0
    for offset in sockets.indices {
      let socket = sockets[(start + offset) % sockets.count]
      act(on: socket.socket, socket.curlBits)
      lastInTurn = socket.socket
      if pause > 0 { return }
    }
  }

  /// For how many nanoseconds nothing may be read.
  private var pause: UInt64 { heldSince == nil ? rateLimit?.pause(at: Self.now) ?? 0 : Self.longestPause }

  /// Longer than anything is held without a look at it.
  private static let longestPause: UInt64 = 3600 * 1_000_000_000

  private var millisecondsUntilDue: Int32 {
    let due = min(due ?? .max, lastLook.map { $0 + stallWatch.interval } ?? .max, deadline ?? .max, watchAt ?? .max)
    if due == .max { return -1 }
    let now = Self.now
    return due <= now ? 0 : Int32(clamping: (due - now + 999_999) / 1_000_000)
  }

  /// CLOCK_MONOTONIC in nanoseconds. The loop is where time is read; other code is given it.
  private static var now: UInt64 { monotonicNanoseconds() }

  fileprivate func socketInterestDidChange(_ socket: Int32, _ what: Int32) {
    assertOnLoop()
    let mask: UInt32 =
      switch what {
      case CURL_POLL_IN: EPOLLIN.rawValue
      case CURL_POLL_OUT: EPOLLOUT.rawValue
      case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
      default: 0
      }
    poll.setInterest(socket, mask)
  }

  fileprivate func timerDidChange(_ milliseconds: Int) {
    assertOnLoop()
    due = milliseconds < 0 ? nil : Self.now + UInt64(milliseconds) * 1_000_000
  }

  /// Descriptors have run out: from now on, at most half as many connections as are open now are kept idle.
  func keepFewerConnections() {
    assertOnLoop()
    do throws(MultiFailure) { try multi.set(CURLMOPT_MAXCONNECTS, max(1, connections.count / 2)) } catch {
      assertionFailure("CURLMOPT_MAXCONNECTS takes any number: \(error.message)")
    }
  }

  /// - Parameter host: the host for whose transfer it was opened.
  func socketDidOpen(_ socket: Int32, for host: String) {
    assertOnLoop()
    connections.opened(socket, to: host)
    if watchAt == nil { watchAt = Self.now + Self.watchInterval }
    if var size = rateLimit?.receiveBuffer {
      // If the kernel refuses, only the rate is less even.
      _ = setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    poll.connected(socket)
  }

  /// Connections to a host that no transfer uses and that the server has not closed.
  func idleConnections(to host: String) -> [Int32] {
    assertOnLoop()
    // An idle connection has nothing to read, neither a byte nor its end.
    return connections.sockets(to: host).filter {
      poll.isIdle($0) && !forgetIfClosed($0) && !hasSomethingToRead($0)
    }
  }

  /// Forgets a connection that libcurl has closed without a word.
  /// - Returns: whether it had.
  @discardableResult
  func forgetIfClosed(_ socket: Int32) -> Bool {
    assertOnLoop()
    guard connections.forgetIfClosed(socket) else { return false }
    poll.forget(socket)
    return true
  }

  /// Ends an idle connection. libcurl has no call for that: the shutdown tells the server now, and libcurl closes the
  /// descriptor when it next looks for a connection and finds this one ended.
  func end(idleConnection socket: Int32) {
    assertOnLoop()
    connections.closed(socket)
    shutdown(socket, Int32(SHUT_RDWR))
  }

  fileprivate func socketWillClose(_ socket: Int32) -> Int32 {
    assertOnLoop()
    connections.closed(socket)
    poll.forget(socket)
    return close(socket)
  }
}

/// Runs whole tasks on a loop's thread, including code that is isolated to no actor (SE-0417).
///
/// A separate type, so that the loop can tell Swift exactly where a job runs. Otherwise Swift assumes that the task is
/// on the wrong executor and moves it by one more job at each of its steps.
final class LoopTaskExecutor: TaskExecutor {
  private let loop: CurlLoop

  init(_ loop: CurlLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    loop.enqueue(.free(UnownedJob(job), asUnownedTaskExecutor()))
  }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}

// File-level, because nested @convention(c) closures can crash Swift 6.3. Each context is the loop, which lives while
// its thread runs, and each call comes on that thread from a call of the loop into libcurl.

private func curlLoopThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let loop = Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue()
  dlm_name_thread("curl-loop")
  loop.runThread()
  return nil
}

private func curlSocketInterestDidChange(
  _ easy: UnsafeMutableRawPointer?, _ socket: Int32, _ what: Int32, _ context: UnsafeMutableRawPointer?,
  _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().socketInterestDidChange(socket, what)
  return 0
}

private func curlTimerDidChange(
  _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let context else { return 0 }
  Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().timerDidChange(milliseconds)
  return 0
}

func curlWillCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: Int32) -> Int32 {
  guard let context else { return close(socket) }
  return Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().socketWillClose(socket)
}

/// CLOCK_MONOTONIC in nanoseconds.
func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  // Fails only for an unknown clock or a bad pointer.
  guard clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return 0 }
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
