import FileReceiving
import DownloadModel
import SystemPackage

/// Stores a list from a pipe, so that `dlm get` can repeat it: without credentials, and only for this user. It gets its
/// name only once it is complete, so a pipe that breaks off replaces nothing.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var state = State.open
  private(set) var hadLogins = false

  private enum State { case open, broken, kept }

  init(_ path: FilePath) { self.path = path }

  var isKept: Bool { state == .kept }

  /// Half of a list must not count as the whole.
  func discard() {
    guard state == .open else { return }
    state = .broken
    pending = []
    draft = nil  // removes it
  }

  /// The stored list is in dlm's own format: names are stored as they were cleaned.
  func add(_ request: DownloadRequest, _ options: LineOptions) {
    if request.address.hasCredentials || !options.headerLines.isEmpty { hadLogins = true }
    var options = options
    options.name = request.outputName
    options.folder = request.folder
    pending += request.address.key.utf8
    pending += options.text.utf8
    pending.append(0x0A)
    if pending.count > FileDescriptor.blockSize { write() }
  }

  func close() {
    guard state == .open else { return }
    write(isLast: true)
    if state == .open { discard() }
  }

  /// Fails silently, because only the repetition is lost; the list that was remembered before stays.
  private func write(isLast: Bool = false) {
    guard state == .open else { return pending.removeAll() }
    do {
      if !pending.isEmpty, draft == nil {
        _ = try Folder(own: path.removingLastComponent())
        draft = try DraftFile(for: path)
      }
      try draft?.write(pending)
      pending.removeAll(keepingCapacity: true)
      guard isLast, draft != nil else { return }
      try draft?.commit()
      state = .kept
    } catch { state = .broken }
    draft = nil
  }
}
