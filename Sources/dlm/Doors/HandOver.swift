import DownloadModel
import FileReceiving
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Key `b`: the run stops as for `q`, and a detached one goes on with its files.
final class HandOver: Sendable {
  private enum State { case off, asked, on }

  private let order: DownloadOrder
  private let feed: ProgressFeed
  private let state = Lock(State.off)

  init(_ order: DownloadOrder, _ feed: ProgressFeed) {
    self.order = order
    self.feed = feed
  }

  var isOn: Bool { state.withLock { $0 == .on } }

  /// - Returns: the reply to the key.
  func press(stop: () -> Void) -> String {
    if let obstacle { return "this run cannot go on without its terminal: \(obstacle)" }
    let lost = feed.countBeginningAnew()
    let isSure = state.withLock { state in
      state = lost == 0 || state == .asked ? .on : .asked
      return state == .on
    }
    guard isSure else {
      return "\(Quantity.files(lost)) would begin anew, as the server resumes none: b again goes on all the same"
    }
    stop()
    return "going on in the background: partial files are saved"
  }

  /// Why a detached run cannot take its place; `nil` if it can.
  private var obstacle: String? {
    let lists = order.sources.compactMap(\.path)
    if let why = order.settings.needsTerminal(order.sources) { return why }
    if let pipe = lists.first(where: { FilePath($0).fileType != S_IFREG }) { return "\(pipe) can be read only once" }
    return order.plan == nil ? nil : "it compares two modes"
  }

  func start(with memory: RunMemory) throws -> Int {
    let typed = order.typed.sources
    // Of a list that is taken again, the remembered name; as typed, a URL has its login.
    let sources = typed.isEmpty ? memory.sources : typed + memory.added
    let words = typed.isEmpty ? order.options.typed : RememberedOptions(order.typed).typed
    return try DetachedStart.start(
      ["get"] + words + ["--detach", "--no-compare", "--"] + sources, isContinued: true)
  }
}
