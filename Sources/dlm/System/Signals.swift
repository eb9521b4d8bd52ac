import Dispatch
import DownloadModel
import Glibc
import Synchronization

/// Signals of the process as an async sequence. The handler writes them into a pipe, so that they count from the moment
/// it is installed; a Dispatch source is registered some time later. An ignored signal stays ignored.
final class Signals: AsyncSequence, Sendable {
  enum Purpose {
    /// SIGINT, SIGTERM, SIGHUP: the first is delivered; a second ends the process and its commands at once, with 128 +
    /// its number.
    case ending
    /// SIGTSTP, and SIGCONT after it or after an unnoticed SIGSTOP.
    case stopping

    fileprivate var numbers: [Int32] { self == .ending ? [SIGINT, SIGTERM, SIGHUP] : [SIGTSTP, SIGCONT] }
  }

  static var ending: Int32? {
    let number = endingSignal.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }

  /// For work that must not be interrupted: a signal that would end the process does so after it.
  static func hold<Value>(during work: () -> Value) -> Value {
    let numbers = Purpose.ending.numbers
    var found = numbers.map { _ in sigaction() }
    for (index, number) in numbers.enumerated() {
      sigaction(number, nil, &found[index])
      install(number, noteSignal, SA_RESTART)
    }
    let value = work()
    for (index, number) in numbers.enumerated() { sigaction(number, &found[index], nil) }
    if let number = ending {
      _ = unblock(number)
      raise(number)
    }
    return value
  }

  /// Threads of Dispatch block signals.
  /// - Returns: the mask before.
  private static func unblock(_ number: Int32) -> sigset_t {
    var one = sigset_t()
    var before = sigset_t()
    sigemptyset(&one)
    sigaddset(&one, number)
    pthread_sigmask(SIG_UNBLOCK, &one, &before)
    return before
  }

  private let stream: AsyncStream<Int32>
  /// Stored, because a stream ends with its last continuation.
  private let continuation: AsyncStream<Int32>.Continuation
  private let source: Lock<(any DispatchSourceRead)?>
  private let seen = SignalCount()

  /// - Parameter beforeExit: restores the terminal before a second signal ends the process.
  init(_ purpose: Purpose, beforeExit: @escaping @Sendable () -> Void = {}) {
    let (stream, continuation) = AsyncStream<Int32>.makeStream()
    self.stream = stream
    self.continuation = continuation
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      // Out of descriptors: signals keep their default action, which ends the process.
      source = Lock(nil)
      return
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let isEnding = purpose == .ending
    source = Lock(
      Self.reader(of: ends[0]) { [seen] number in
        if isEnding, seen.next() > 1 {
          beforeExit()
          Hooks.kill()
          _exit(128 + number)
        }
        continuation.yield(number)
      })
    if isEnding {
      endingPipe.store(ends[1], ordering: .sequentiallyConsistent)
    } else {
      stoppingPipe.store(ends[1], ordering: .sequentiallyConsistent)
    }
    for number in purpose.numbers { Self.install(number, noteSignal, SA_RESTART) }
  }

  /// As if a first signal had arrived, so that the next is the second.
  func deliver(_ number: Int32) { if seen.next() == 1 { continuation.yield(number) } }

  /// Stops the process, and returns when it continues. Sent to this thread, because otherwise it would keep running
  /// beside the shell's prompt; SIGTSTP, which the kernel drops in an orphaned group that no shell could continue.
  static func stopProcess() {
    var standard = sigaction()
    var caught = sigaction()
    sigaction(SIGTSTP, &standard, &caught)
    var before = unblock(SIGTSTP)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &before, nil)
    sigaction(SIGTSTP, &caught, nil)
  }

  func makeAsyncIterator() -> AsyncStream<Int32>.AsyncIterator { stream.makeAsyncIterator() }

  private static func reader(
    of descriptor: Int32, _ handle: @escaping @Sendable (Int32) -> Void
  ) -> sending any DispatchSourceRead {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "signals"))
    source.setEventHandler {
      var number: UInt8 = 0
      if read(descriptor, &number, 1) == 1 { handle(Int32(number)) }
    }
    source.resume()
    return source
  }

  /// A signal that was ignored at the start stays ignored: SIGHUP by nohup, SIGINT in the background by a shell without
  /// job control (POSIX, sh, "Signals and Error Handling").
  static func install(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void, _ flags: Int32) {
    var found = sigaction()
    guard sigaction(number, nil, &found) == 0 else { return }
    // 1 is SIG_IGN, which Swift cannot compare with a function.
    if withUnsafeBytes(of: found.__sigaction_handler, { $0.load(as: Int.self) }) == 1 { return }
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = flags
    sigaction(number, &action, nil)
  }
}

private final class SignalCount: Sendable {
  private let count = Atomic<Int>(0)
  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

private let endingPipe = Atomic<Int32>(-1)

private let stoppingPipe = Atomic<Int32>(-1)

private let endingSignal = Atomic<Int32>(0)

/// Async-signal-safe: loads, a store, a write of one byte. A full pipe already holds thousands of signals.
private func noteSignal(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  let isStopping = number == SIGTSTP || number == SIGCONT
  if !isStopping { endingSignal.store(number, ordering: .relaxed) }
  let descriptor = isStopping ? stoppingPipe.load(ordering: .relaxed) : endingPipe.load(ordering: .relaxed)
  if descriptor >= 0 { _ = write(descriptor, &byte, 1) }
  errno = saved
}
