import DownloadModel
import Glibc
import RunDoors
import Synchronization
import TerminalProgress

/// A visitor's terminal or log. A visitor who does not read gets no frames, and so never holds up the
/// run.
final class VisitorScreen: ProgressRenderer.Output {
  private let visitor: DoorVisitor
  private let window: Lock<TerminalSize>

  init(_ visitor: DoorVisitor, size: TerminalSize) {
    self.visitor = visitor
    window = Lock(size)
  }

  func resize(to size: TerminalSize) { window.withLock { $0 = size } }

  var isReady: Bool { visitor.isReady }
  var size: TerminalSize? { window.withLock { $0 } }

  func write(_ bytes: [UInt8]) throws(TerminalOutput.Lost) {
    if visitor.isClosed { throw TerminalOutput.Lost(errno: EPIPE) }
    visitor.send(["type": "show", "text": String(utf8: bytes)])
  }
}
