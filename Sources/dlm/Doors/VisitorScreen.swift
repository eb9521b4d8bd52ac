import DownloadModel
import Glibc
import RunDoors
import Synchronization
import TerminalProgress

/// A visitor's terminal, or its stream of lines. A visitor who does not read gets no frames, and so never holds up the
/// run.
final class VisitorScreen: ProgressRenderer.Output {
  private let visitor: DoorVisitor
  private let isOfBytes: Bool
  private let window: Lock<TerminalSize>

  /// - Parameter isOfBytes: whether the bytes are for a terminal or a log, and not lines of the door themselves.
  init(_ visitor: DoorVisitor, isOfBytes: Bool, size: TerminalSize) {
    self.visitor = visitor
    self.isOfBytes = isOfBytes
    window = Lock(size)
  }

  func resize(to size: TerminalSize) { window.withLock { $0 = size } }

  var isReady: Bool { visitor.isReady }
  var isInForeground: Bool { true }
  var size: TerminalSize? { window.withLock { $0 } }

  func write(_ bytes: [UInt8]) throws(TerminalOutput.Lost) {
    if visitor.isClosed { throw TerminalOutput.Lost(errno: EPIPE) }
    if isOfBytes { visitor.send(["type": "show", "text": String(utf8: bytes)]) } else { visitor.send(bytes) }
  }

  // The visitor's own terminal is its own affair.
  func takeKeys() {}
  func giveKeysBack(isForGood: Bool) {}
  func writeAtOnce(_ bytes: [UInt8]) {}
}
