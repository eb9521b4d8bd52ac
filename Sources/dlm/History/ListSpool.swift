import FileReceiving
import DownloadModel
import SystemPackage

/// Stores a list from a pipe, so that `dlm get` can repeat it: without credentials, and only for this user. It gets its
/// name only once it is complete, so a pipe that breaks off replaces nothing.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var isOpen = true
  private(set) var isKept = false
  private(set) var hadLogins = false

  init(_ path: FilePath) { self.path = path }

  /// Half of a list must not count as the whole.
  func discard() {
    guard isOpen else { return }
    isOpen = false
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

  func close() { write(isLast: true) }

  /// Fails silently, because only the repetition is lost; the list that was remembered before stays.
  private func write(isLast: Bool = false) {
    guard isOpen else { return pending.removeAll() }
    do {
      if !pending.isEmpty, draft == nil {
        _ = try Folder(own: path.removingLastComponent())
        draft = try DraftFile(for: path)
      }
      try draft?.write(pending)
      pending.removeAll(keepingCapacity: true)
      guard isLast, draft != nil else { return }
      try draft?.commit()
      isKept = true
    } catch { pending = [] }
    isOpen = false
    draft = nil
  }
}
