// Long because: the turns of one thread; cut, what only the thread may touch would lie open.

import CCurl
import Dispatch
import DownloadModel
import Glibc
import Synchronization

// Long because: what touches the multi handle and the poll is private to the loop.

/// One thread, one epoll descriptor and one multi handle; the serial executor of `CurlAgent` and, by way of
/// `LoopTaskExecutor`, of the tasks that download.
///
/// Jobs, sockets and timers take turns on the thread. A download that prefers this executor runs here from the
/// strategy to the last byte on disk, so a file costs no thread hop; what does not run here is the index, the
/// renderer and everything that may wait.
///
/// `@unchecked Sendable` is sound because: `inbox` and `lateJobs` are Sendable and `owner` an Atomic; `agent` and `tasks` are
/// set before the thread starts; `poll`, `multi`, `ready` and `due` are touched on the thread alone, which the
/// assertions of every method that does so check (`isOnLoop`).
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
  private var drainsUntil: UInt64?  // the first of those whose body is only drained
  private var watchAt: UInt64?  // next look at requests without an answer; nil while no connection is new
  /// Which host a connection was opened for.
  private var hosts: [Int32: String] = [:]
  private static let watchInterval: UInt64 = 10_000_000
  private let rateLimit: RateLimit?
  /// Under a rate limit: the socket that was last read from.
  private var lastInTurn: Int32 = -1
  private var agent: CurlAgent?
  /// Refers back to this loop: both live until the thread ends.
  private var tasks: LoopTaskExecutor?

  init(_ stallWatch: StallWatch, _ rateLimit: RateLimit? = nil) throws {
    self.stallWatch = stallWatch
    self.rateLimit = rateLimit
    poll = try EventPoll()
    multi = try MultiHandle()
    inbox = LoopInbox(poll.alarm)
    // The context is this loop, which its own thread keeps alive until the multi handle is closed.
    let context = Unmanaged.passUnretained(self).toOpaque()
    try multi.onSocket(curlSocketInterestDidChange, context: context)
    try multi.onTimer(curlTimerDidChange, context: context)
  }

  /// Starts the thread. Called once, before anything is enqueued.
  func start(_ agent: CurlAgent, _ tasks: LoopTaskExecutor, keepingConnections count: Int) throws {
    self.agent = agent
    self.tasks = tasks
    try multi.set(CURLMOPT_MAXCONNECTS, count)
    var thread = pthread_t()
    let retained = Unmanaged.passRetained(self)  // released by the thread's last line
    let code = pthread_create(&thread, nil, curlLoopThread, retained.toOpaque())
    guard code == 0 else {
      retained.release()
      (self.agent, self.tasks) = (nil, nil)
      throw SystemFailure(call: "pthread_create", errno: code)
    }
    pthread_detach(thread)
  }

  /// Ends the thread once its jobs are done. The agent has let go of its transfers before.
  func stop() async { await inbox.stop() }

  var isOnLoop: Bool { owner.load(ordering: .relaxed) == pthread_self() }

  // MARK: Executor

  func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

  func enqueue(_ job: LoopJob) {
    if isOnLoop {
      ready.append(job)
    } else if !inbox.put(job) {
      runLate(job)
    }
  }

  /// A job that arrives after the thread has ended still runs, or its task would wait for ever; one after the other still.
  private func runLate(_ job: LoopJob) {
    lateJobs.async { job.run(serial: self.asUnownedSerialExecutor(), preferred: nil) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  func checkIsolated() { precondition(isOnLoop, "not on the curl loop's thread") }
  func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  /// Asks for the end of a transfer; from any thread. One that has ended already is not harmed.
  func cancel(_ id: TransferID) { inbox.cancel(id) }

  /// From now on so many connections to a host; from any thread.
  func keep(_ quota: ConnectionQuota) { inbox.keep(quota) }

  // MARK: On the thread

  func add(_ easy: borrowing EasyHandle) throws(MultiFailure) {
    assert(isOnLoop)
    try multi.add(easy)
    if lastLook == nil { lastLook = Self.now }
  }

  /// Connections that are open, idle ones included.
  var connectionCount: Int { poll.connectionCount }

  /// A transfer is to be looked at then, because its body is only drained.
  func look(at time: UInt64) { drainsUntil = min(drainsUntil ?? time, time) }

  func remove(_ easy: borrowing EasyHandle) throws(MultiFailure) {
    assert(isOnLoop)
    try multi.remove(easy)
  }

  func runThread() {
    owner.store(pthread_self(), ordering: .relaxed)
    while turn() {}
    multi.close()
    (agent, tasks) = (nil, nil)
    owner.store(0, ordering: .relaxed)
    let late = ready + inbox.finish()
    ready = []
    for job in late { runLate(job) }
  }

  /// Jobs, then timers, then what ended, then sockets.
  /// - Returns: false when the loop is to end.
  private func turn() -> Bool {
    if takeInbox() { return false }
    runJobs()
    actOnTimers()
    deliverFinished()
    wait()
    endStalled()
    endDrained()
    watchUnanswered()
    return true
  }

  private func takeInbox() -> Bool {
    let delivery = inbox.take()
    ready += delivery.jobs
    if !delivery.cancelled.isEmpty { agent?.assumeIsolated { $0.cancel(delivery.cancelled) } }
    if !delivery.quotas.isEmpty { agent?.assumeIsolated { $0.keep(delivery.quotas) } }
    return delivery.isStopping && ready.isEmpty
  }

  /// Jobs make jobs: some hundred are run before sockets get their turn, so that neither starves.
  private func runJobs() {
    let (serial, preferred) = (asUnownedSerialExecutor(), tasks?.asUnownedTaskExecutor())
    var index = 0
    while index < ready.count, index < 512 {
      ready[index].run(serial: serial, preferred: preferred)
      index += 1
    }
    ready.removeFirst(index)
  }

  private func actOnTimers() {
    // A timer is a read too, where more is there than one turn may take; so under a rate limit it waits like the sockets.
    guard let due, due <= Self.now, pause == 0 else { return }
    self.due = nil
    act(on: CURL_SOCKET_TIMEOUT, 0)
  }

  private func endStalled() {
    guard let lastLook else { return }
    let now = Self.now
    guard now >= lastLook + stallWatch.interval else { return }
    // What a rate limit holds back has not stalled.
    let time = pause > 0 ? 0 : stallWatch.counted(now - lastLook)
    let goesOn = agent?.assumeIsolated { $0.endStalled(stallWatch, after: time) } ?? false
    self.lastLook = goesOn ? now : nil
  }

  private func endDrained() {
    guard let due = drainsUntil else { return }
    let now = Self.now
    if due <= now { drainsUntil = agent?.assumeIsolated { $0.endDrained(at: now) } ?? nil }
  }

  private func watchUnanswered() {
    guard let time = watchAt else { return }
    let now = Self.now
    guard time <= now else { return }
    // A loop that was held up may have answers waiting.
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
    // Under a rate limit a transfer has ended when its bytes are paid for: else many short ones would all come in one
    // burst, and a run end before its last.
    if pause > 0 { return }
    while let (easy, code) = multi.nextFinished() {
      // The handle's address crosses as a number: the agent finds its transfer by it.
      let address = UInt(bitPattern: easy)
      agent?.assumeIsolated { $0.finish(address, code) }
    }
  }

  private func wait() {
    let mayWait = ready.isEmpty && inbox.mayWait()
    do throws(SystemFailure) {
      let pause = pause
      if pause > 0 {
        return mayWait ? try poll.waitForAlarm(Int32(clamping: (pause + 999_999) / 1_000_000)) : ()
      }
      // A timer that is due already (a transfer was just added) comes before the next look at the sockets.
      if let due, due <= Self.now, mayWait { return }
      try poll.wait(mayWait ? millisecondsUntilDue : 0, into: &sockets)
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

  /// One socket after the other, until what was due has come; those that are left are ready again next time, and then it
  /// is their turn first.
  private func actInTurn() {
    let start = sockets.firstIndex { $0.socket == lastInTurn }.map { $0 + 1 } ?? 0
    for offset in sockets.indices {
      let socket = sockets[(start + offset) % sockets.count]
      act(on: socket.socket, socket.curlBits)
      lastInTurn = socket.socket
      if pause > 0 { return }
    }
  }

  /// How long nothing may be read, in nanoseconds.
  private var pause: UInt64 { rateLimit?.pause(at: Self.now) ?? 0 }

  private var millisecondsUntilDue: Int32 {
    let due = min(
      due ?? .max, lastLook.map { $0 + stallWatch.interval } ?? .max, drainsUntil ?? .max, watchAt ?? .max)
    if due == .max { return -1 }
    let now = Self.now
    return due <= now ? 0 : Int32(clamping: (due - now + 999_999) / 1_000_000)
  }

  /// CLOCK_MONOTONIC in nanoseconds: this is an edge, where time is read and not passed in.
  private static var now: UInt64 { monotonicNanoseconds() }

  func socketInterestDidChange(_ socket: Int32, _ what: Int32) {
    let mask: UInt32 =
      switch what {
      case CURL_POLL_IN: EPOLLIN.rawValue
      case CURL_POLL_OUT: EPOLLOUT.rawValue
      case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
      default: 0
      }
    poll.wish(socket, mask)
  }

  func timerDidChange(_ milliseconds: Int) {
    due = milliseconds < 0 ? nil : Self.now + UInt64(milliseconds) * 1_000_000
  }

  /// Descriptors have run out: from now on half as many connections as are open are kept when they are idle.
  func keepFewerConnections() {
    do throws(MultiFailure) { try multi.set(CURLMOPT_MAXCONNECTS, max(1, poll.connectionCount / 2)) } catch {
      assertionFailure("CURLMOPT_MAXCONNECTS takes any number: \(error.message)")
    }
  }

  /// - Parameter host: for whose transfer it was opened.
  func socketDidOpen(_ socket: Int32, for host: String) {
    hosts[socket] = host
    if watchAt == nil { watchAt = Self.now + Self.watchInterval }
    if var size = rateLimit?.receiveBuffer {
      // A kernel that will not only makes the rate less even.
      _ = setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    poll.connected(socket)
  }

  /// Connections to a host that no transfer has, and that the server has not closed.
  func idleConnections(to host: String) -> [Int32] {
    // An idle connection has nothing to read, neither a byte nor an end.
    hosts.filter { $0.value == host && poll.isIdle($0.key) && !hasSomethingToRead($0.key) }.map(\.key)
  }

  /// Ends an idle connection. libcurl has no call for that: the server learns it now, and libcurl closes the descriptor
  /// when it next looks for a connection and finds this one ended.
  func end(idleConnection socket: Int32) {
    hosts[socket] = nil
    shutdown(socket, Int32(SHUT_RDWR))
  }

  func socketWillClose(_ socket: Int32) -> Int32 {
    hosts[socket] = nil
    poll.forget(socket)
    return close(socket)
  }
}
