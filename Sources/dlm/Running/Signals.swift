import Dispatch
import Glibc
import Synchronization

/// Signals of the process as an async sequence.
///
/// The handler only writes the number into a pipe, so that a signal counts from the moment in which the handler is
/// installed, whether or not anybody reads yet. (A Dispatch signal source is registered some time after it was
/// resumed, and a Ctrl-C in between was lost.) A signal that is ignored stays ignored.
final class Signals: AsyncSequence, Sendable {
  /// What the signals are for; one sequence each at a time.
  enum Purpose {
    /// SIGINT, SIGTERM, SIGHUP: the first one is delivered; a second one ends the process at once with 128 + its number.
    case ending
    /// SIGTSTP.
    case stopping

    fileprivate var numbers: [Int32] { self == .ending ? [SIGINT, SIGTERM, SIGHUP] : [SIGTSTP] }
  }

  private let stream: AsyncStream<Int32>
  /// Kept, as a stream ends when nobody can write to it any more.
  private let continuation: AsyncStream<Int32>.Continuation
  private let source: Mutex<(any DispatchSourceRead)?>

  /// - Parameter beforeExit: puts the terminal right before a second signal ends the process.
  init(_ purpose: Purpose, beforeExit: @escaping @Sendable () -> Void = {}) {
    let (stream, continuation) = AsyncStream<Int32>.makeStream()
    self.stream = stream
    self.continuation = continuation
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      // Out of descriptors at the start: signals keep their default action, which ends the process.
      source = Mutex(nil)
      return
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let seen = SignalCount()
    let isEnding = purpose == .ending
    source = Mutex(
      Self.reader(of: ends[0]) { number in
        if isEnding, seen.next() > 1 {
          beforeExit()
          _exit(128 + number)
        }
        continuation.yield(number)
      })
    if isEnding {
      endingPipe.store(ends[1], ordering: .sequentiallyConsistent)
    } else {
      stoppingPipe.store(ends[1], ordering: .sequentiallyConsistent)
    }
    for number in purpose.numbers { Self.install(number) }
  }

  func makeAsyncIterator() -> AsyncStream<Int32>.AsyncIterator { stream.makeAsyncIterator() }

  private static func reader(
    of descriptor: Int32, _ handle: @escaping @Sendable (Int32) -> Void
  ) -> sending any DispatchSourceRead {
    let source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "signals"))
    source.setEventHandler {
      var number: UInt8 = 0
      if read(descriptor, &number, 1) == 1 { handle(Int32(number)) }
    }
    source.resume()
    return source
  }

  /// What was ignored when dlm started stays so: nohup ignores SIGHUP, a shell without job control SIGINT for what it
  /// runs in the background, and neither wants the signal to end it (POSIX, sh, "Signals and Error Handling").
  private static func install(_ number: Int32) {
    var found = sigaction()
    guard sigaction(number, nil, &found) == 0, !isIgnored(found) else { return }
    var action = sigaction()
    action.__sigaction_handler.sa_handler = noteSignal
    action.sa_flags = SA_RESTART
    sigaction(number, &action, nil)
  }

  /// SIG_IGN is the address 1, which Swift cannot compare a function with.
  private static func isIgnored(_ action: sigaction) -> Bool {
    withUnsafeBytes(of: action.__sigaction_handler) { $0.load(as: Int.self) } == 1
  }
}

private final class SignalCount: Sendable {
  private let count = Atomic<Int>(0)
  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}

private let endingPipe = Atomic<Int32>(-1)
private let stoppingPipe = Atomic<Int32>(-1)

/// Async-signal-safe: a load, and a write of one byte. A full pipe holds thousands of signals already.
private func noteSignal(_ number: Int32) {
  let saved = errno
  var byte = UInt8(truncatingIfNeeded: number)
  let descriptor =
    number == SIGTSTP ? stoppingPipe.load(ordering: .relaxed) : endingPipe.load(ordering: .relaxed)
  if descriptor >= 0 { _ = write(descriptor, &byte, 1) }
  errno = saved
}
