import DownloadModel
import Synchronization

/// The requests of a run: command-line addresses, list files and standard input, in the order they were named.
///
/// Lists are read in blocks as requests are wanted, on the reader's own thread, so a pipe that is slow holds up
/// nothing but the next request, and one that never ends is never held in memory.
final class ListSource: RequestSource {
  private let buffer = Mutex(Buffer())
  private let reader: ListReader

  private struct Buffer {
    var requests: [DownloadRequest] = []
    var next = 0
    var isComplete = false

    mutating func take() -> DownloadRequest? {
      guard next < requests.count else { return nil }
      defer { next += 1 }
      return requests[next]
    }
  }

  init(_ reader: ListReader) { self.reader = reader }

  nonisolated(nonsending) func next() async -> DownloadRequest? {
    while true {
      let (request, isComplete) = buffer.withLock { ($0.take(), $0.isComplete) }
      if request != nil || isComplete { return request }
      await withTaskCancellationHandler {
        await reader.refill(self)
      } onCancel: {
        reader.interrupt()
      }
    }
  }

  func takeAtOnce() -> DownloadRequest? { buffer.withLock { $0.take() } }

  /// Gives nothing more. Lists that are still being read are read no further.
  func stop() {
    reader.interrupt()
    put([], isComplete: true)
  }

  /// Whether there is nothing to draw: another lane may have refilled since this one asked.
  var isEmpty: Bool { buffer.withLock { $0.next >= $0.requests.count && !$0.isComplete } }

  func put(_ requests: [DownloadRequest], isComplete: Bool) {
    buffer.withLock { buffer in
      // Stopped for good, also when a block was on its way.
      if !buffer.isComplete { buffer = Buffer(requests: requests, next: 0, isComplete: isComplete) }
    }
  }
}
