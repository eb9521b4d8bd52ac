import Dispatch
import Glibc
import Synchronization

/// Signals of the process as an async sequence.
final class Signals: AsyncSequence, Sendable {
  private let stream: AsyncStream<Int32>
  private let seen = Atomic<Int>(0)
  private let sources = Mutex<[any DispatchSourceSignal]>([])

  /// - Parameters:
  ///   - exitsOnSecond: the first one is delivered; a second one ends the process at once with 128 + its number.
  ///   - beforeExit: puts the terminal right before that.
  init(_ numbers: [Int32], exitsOnSecond: Bool, beforeExit: @escaping @Sendable () -> Void) {
    let (stream, continuation) = AsyncStream<Int32>.makeStream()
    self.stream = stream
    let queue = DispatchQueue(label: "signals")
    for number in numbers {
      // The default action would end the process before the source sees the signal.
      signal(number, SIG_IGN)
      let handle: @Sendable () -> Void = { [weak self] in
        guard exitsOnSecond, let self, seen.wrappingAdd(1, ordering: .relaxed).newValue > 1 else {
          continuation.yield(number)
          return
        }
        beforeExit()
        _exit(128 + number)
      }
      sources.withLock { $0.append(Self.source(number, queue, handle)) }
    }
  }

  private static func source(
    _ number: Int32, _ queue: DispatchQueue, _ handle: @escaping @Sendable () -> Void
  ) -> sending any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler(handler: handle)
    source.resume()
    return source
  }

  func makeAsyncIterator() -> AsyncStream<Int32>.AsyncIterator { stream.makeAsyncIterator() }
}
