import CCurl
import Dispatch
import Glibc
import Synchronization

/// One thread, one epoll descriptor and one multi handle; the executor of `CurlAgent` and of the downloading tasks. A
/// download runs here from the strategy to the last byte on disk, so a file costs no thread hop.
///
/// `@unchecked Sendable` is sound because: `inbox`, `openConnections` and `lateJobs` are Sendable and `owner` is an
/// Atomic. Every other property is written before the thread starts, and after that is used on the thread alone: by its
/// turns, by libcurl's callbacks, which run inside the turns and assert it (`assertOnLoop`), and by the agent, whose
/// executor this is. Jobs of the agent that arrive after the thread's end run one at a time, and after everything that
/// the thread did with these properties (the inbox's lock orders them).
final class CurlLoop: SerialExecutor, @unchecked Sendable {
  let inbox: LoopInbox
  let openConnections = OpenConnections()
  private let owner = Atomic<pthread_t>(0)
  private let lateJobs = DispatchQueue(label: "dlm.curl-loop.late")
  var poll: EventPoll
  private var multi: MultiHandle
  private var ready: [LoopJob] = []
  var timers: LoopTimers
  /// `nil` while transfers are not paused.
  private var heldSince: UInt64?
  private(set) var turns: UInt64 = 0
  /// Whether paused bodies must be decoded further in the next turn.
  var isBehind = false { willSet { assertOnLoop() } }
  /// Whether the only transfer has started, so that all other work waits for its answer.
  var expectsAnswer = false { willSet { assertOnLoop() } }
  /// Whether libcurl would take leave of servers and wait for their replies when the loop ends.
  var endsConnections = false { willSet { assertOnLoop() } }
  /// Both refer back to this loop, so all three live until the thread ends.
  private var served: (agent: CurlAgent, tasks: LoopTaskExecutor)?

  init(_ stallWatch: StallWatch) throws(CurlFailure) {
    timers = LoopTimers(stallWatch)
    poll = try EventPoll(openConnections)
    multi = try MultiHandle()
    inbox = LoopInbox(poll.wakeup)
    try multi.check(
      dlm_multi_set_callbacks(multi.pointer, curlSocketInterestDidChange, curlTimerDidChange, callbackContext))
  }

  /// Starts the thread. Called once, before any job is enqueued.
  func start(_ agent: CurlAgent, _ tasks: LoopTaskExecutor, keepingConnections count: Int) throws(CurlFailure) {
    served = (agent, tasks)
    try multi.set(CURLMOPT_MAXCONNECTS, count)
    var thread = pthread_t()
    let retained = Unmanaged.passRetained(self)  // released when the thread ends
    let code = pthread_create(&thread, nil, curlLoopThread, retained.toOpaque())
    guard code == 0 else {
      retained.release()
      served = nil
      throw CurlFailure("pthread_create", errno: code)
    }
    pthread_detach(thread)
  }

  var isOnLoop: Bool { owner.load(ordering: .relaxed) == pthread_self() }

  /// For code that must run on the thread, or as a late job, which run one at a time.
  fileprivate func assertOnLoop() { assert(isOnLoop || inbox.hasEnded, "not on the curl loop's thread") }

  var callbackContext: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  // MARK: From any thread

  func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

  func enqueue(_ job: LoopJob) {
    if isOnLoop {
      ready.append(job)
    } else if !inbox.put(job) {
      runLate(job)
    }
  }

  /// For a job that arrives after the thread has ended; otherwise its task would wait forever.
  private func runLate(_ job: LoopJob) {
    lateJobs.async { job.run(serial: self.asUnownedSerialExecutor(), preferred: nil) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  func checkIsolated() { precondition(isOnLoop, "not on the curl loop's thread") }
  func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  // MARK: For the agent and its transfers

  func add(_ easy: borrowing EasyHandle) throws(CurlFailure) {
    assertOnLoop()
    try multi.add(easy)
    timers.lookForStalls(true, at: Self.now)
  }

  func remove(_ easy: borrowing EasyHandle) throws(CurlFailure) { try multi.remove(easy) }

  /// Descriptors have run out: from now on, at most half as many connections as are open now are kept idle.
  func keepFewerConnections() {
    do { try multi.set(CURLMOPT_MAXCONNECTS, max(1, poll.connectionCount / 2)) } catch {
      assertionFailure("CURLMOPT_MAXCONNECTS takes any number: \(error.message)")
    }
  }

  /// - Parameter room: SO_RCVBUF; `nil` for the kernel's choice.
  func socketDidOpen(_ socket: Int32, for host: String, room: Int32?) {
    assertOnLoop()
    timers.watchUnanswered(true, at: Self.now)
    // If the kernel refuses, only the rate is less even.
    if let room { set(SO_RCVBUF, room, of: socket) }
    poll.connected(socket, to: host)
  }

  /// Setting SO_RCVLOWAT enlarges the receive buffer (tcp_set_rcvlowat in the kernel), and setting it back keeps that
  /// size. SO_RCVBUF would fix the size, usually at 416 KiB (net.core.rmem_max): less than a distant server fills.
  func makeRoom(_ bytes: Int32, for socket: Int32) {
    for least in [bytes, 1] { set(SO_RCVLOWAT, least, of: socket) }
  }

  private func set(_ option: Int32, _ value: Int32, of socket: Int32) {
    var value = value
    _ = setsockopt(socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Ends an idle connection. libcurl has no call for that, but closes the descriptor when it finds the connection
  /// ended.
  func end(idleConnection socket: Int32) {
    assertOnLoop()
    shutdown(socket, Int32(SHUT_RDWR))
    poll.giveUp(socket)
  }

  // MARK: On the thread

  fileprivate func runThread() {
    owner.store(pthread_self(), ordering: .relaxed)
    while turn() {}
    if endsConnections { poll.endConnections() }
    multi.close()
    served = nil
    owner.store(0, ordering: .relaxed)
    let last = ready
    ready = []
    for job in last + inbox.finish() { runLate(job) }
  }

  /// The order of a turn: jobs, timers, ended transfers, sockets.
  /// - Returns: false when the loop must end.
  private func turn() -> Bool {
    turns += 1
    if takeInbox() { return false }
    runJobs()
    if heldSince == nil {
      decodeOn()
      actOnTimer()
    }
    deliverFinished()
    wait()
    lookAtTransfers()
    return true
  }

  private func takeInbox() -> Bool {
    let mail = inbox.take()
    ready += mail.jobs
    if !mail.cancelled.isEmpty { served?.agent.assumeIsolated { $0.cancel(mail.cancelled) } }
    if !mail.permits.isEmpty { served?.agent.assumeIsolated { $0.keep(mail.permits) } }
    if mail.isHeld != (heldSince != nil) { hold(at: Self.now) }
    return mail.isStopping && ready.isEmpty
  }

  private func hold(at now: UInt64) {
    guard let since = heldSince.take() else { return heldSince = now }
    served?.agent.assumeIsolated { $0.wereHeld(for: now - since) }
    timers.wereHeld(for: now - since, until: now)
  }

  /// Jobs create jobs, so at most 512 run before the sockets, and neither starves.
  private func runJobs() {
    let serial = asUnownedSerialExecutor()
    let preferred = served?.tasks.asUnownedTaskExecutor()
    var index = 0
    while index < ready.count, index < 512 {
      ready[index].run(serial: serial, preferred: preferred)
      index += 1
    }
    ready.removeFirst(index)
  }

  private func decodeOn() {
    guard isBehind else { return }
    isBehind = false  // decoding may set it again
    served?.agent.assumeIsolated { $0.decodeOn() }
  }

  private func actOnTimer() {
    guard let due = timers.curl, due <= Self.now else { return }
    timers.curl = nil
    act(on: CURL_SOCKET_TIMEOUT, 0)
  }

  private func act(on socket: Int32, _ bits: Int32) {
    do { try multi.act(on: socket, bits) } catch { failAll(error.message) }
  }

  /// For transfers whose sockets libcurl does not watch.
  func actOnAll() {
    assertOnLoop()
    do { try multi.actOnAll() } catch { failAll(error.message) }
  }

  private func failAll(_ message: String) { served?.agent.assumeIsolated { $0.failAll(message) } }

  private func deliverFinished() {
    if heldSince != nil { return }
    served?.agent.assumeIsolated { agent in
      while let (easy, code) = multi.nextFinished() {
        if let transfer = CurlTransfer.of(easy) { agent.finish(transfer, code) }
      }
      agent.trim()
    }
  }

  private func wait() {
    let isHeld = heldSince != nil
    let mayWait = ready.isEmpty && (!isBehind || isHeld) && inbox.mayWait(isHeld: isHeld)
    do {
      if isHeld { return mayWait ? try poll.waitForWakeup(Self.longestHold) : () }
      // A timer that is already due (a transfer was just added) comes before the sockets.
      if let due = timers.curl, due <= Self.now, mayWait { return }
      try poll.wait(mayWait ? timers.wait(at: Self.now) : 0, isBrief: expectsAnswer)
      expectsAnswer = false
    } catch {
      failAll(error.message)
    }
    for socket in poll.ready { act(on: socket.socket, socket.bits) }
    deliverFinished()
  }

  /// In milliseconds, longer than any interval between two checks.
  private static let longestHold: Int32 = 3_600_000

  private func lookAtTransfers() {
    let now = Self.now
    if let time = timers.takeLook(at: now) {
      let watch = timers.stallWatch
      let counted = heldSince == nil ? time : 0
      let goesOn = served?.agent.assumeIsolated { $0.endStalled(watch, after: counted) } ?? false
      timers.lookForStalls(goesOn, at: now)
    }
    if heldSince != nil { return }
    if timers.takeDeadline(at: now) {
      if let next = served?.agent.assumeIsolated({ $0.meetDeadlines(at: now) }) { timers.look(at: next) }
    }
    if let time = timers.takeWatch(at: now) {
      let goesOn = served?.agent.assumeIsolated { $0.watchUnanswered(after: time) } ?? false
      timers.watchUnanswered(goesOn, at: now)
    }
  }

  /// CLOCK_MONOTONIC in nanoseconds.
  static var now: UInt64 {
    var time = timespec()
    guard clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Runs whole tasks on a loop's thread, including code that is isolated to no actor (SE-0417). A type of its own, so
/// that the loop can tell Swift where a job runs; otherwise Swift would move the task by one more job at each step.
final class LoopTaskExecutor: TaskExecutor {
  private let loop: CurlLoop

  init(_ loop: CurlLoop) { self.loop = loop }

  func enqueue(_ job: consuming ExecutorJob) {
    loop.enqueue(.free(UnownedJob(job), asUnownedTaskExecutor()))
  }

  func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
}

// File-level, because nested @convention(c) closures can crash Swift 6.3. Each context is the loop, which lives while
// its thread runs. libcurl makes each call on that thread, inside a call of the loop.

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
  loop(context)?.poll.setInterest(socket, what)
  return 0
}

private func curlTimerDidChange(
  _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  loop(context)?.timers.curl = milliseconds < 0 ? nil : CurlLoop.now + UInt64(milliseconds) * 1_000_000
  return 0
}

func curlWillCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: Int32) -> Int32 {
  loop(context)?.poll.forget(socket)
  return close(socket)
}

private func loop(_ context: UnsafeMutableRawPointer?) -> CurlLoop? {
  let loop = context.map { Unmanaged<CurlLoop>.fromOpaque($0).takeUnretainedValue() }
  loop?.assertOnLoop()
  return loop
}
