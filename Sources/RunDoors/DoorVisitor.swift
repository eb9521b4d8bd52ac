package import DownloadModel
import FileReceiving
import SystemPackage

/// A process that is connected to this run's door.
package final class DoorVisitor: Sendable {
  /// The most bytes of a line.
  static let longestLine = 65_536
  /// With so many lines or bytes waiting, nothing more is read from it.
  private static let mostLines = 16
  private static let mostBytes = 1 << 18

  private struct State: Sendable {
    var lines: [String] = []
    var unfinished: [UInt8] = []
    var outgoing: [UInt8] = []
    var isClosed = false
  }

  private let state = Waiters(State())
  /// Makes the door's thread look at this visitor again.
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// The next line; `nil` once it has gone, or the task is cancelled.
  package func next() async -> String? {
    let line = await state.wait { state -> String?? in
      if !state.lines.isEmpty { return .some(state.lines.removeFirst()) }
      return state.isClosed ? .some(nil) : nil
    }
    wake()
    return line ?? nil
  }

  /// Whether it has taken everything that was sent.
  package var isReady: Bool { state.withLock { $0.outgoing.isEmpty } }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  package func send(_ bytes: [UInt8]) {
    state.withLock { if !$0.isClosed { $0.outgoing += bytes } }
    wake()
  }

  package func send(_ fields: JSONFields) { send(Array((JSONValue(fields).text + "\n").utf8)) }

  // MARK: For the door's thread

  var wantsToRead: Bool {
    state.withLock { $0.lines.count < Self.mostLines && $0.outgoing.count < Self.mostBytes }
  }

  /// - Returns: false for a line that is too long.
  func receive(_ bytes: [UInt8]) -> Bool {
    state.withLock { state in
      state.unfinished += bytes
      while let end = state.unfinished.firstIndex(of: .newline) {
        state.lines.append(String(utf8: state.unfinished[..<end]))
        state.unfinished.removeFirst(end + 1)
      }
      return state.unfinished.count <= Self.longestLine
    }
  }

  /// - Parameter write: returns how many bytes were taken.
  func flush(_ write: (ArraySlice<UInt8>) throws(Errno) -> Int) throws(Errno) {
    let waiting = state.withLock { $0.outgoing }
    guard !waiting.isEmpty else { return }
    let count = try write(waiting[...])
    state.withLock { $0.outgoing.removeFirst(count) }
  }

  func close() {
    state.withLock { state in
      state.isClosed = true
      state.outgoing = []
    }
  }
}
