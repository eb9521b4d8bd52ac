import DownloadModel
import SystemPackage

/// Keeps a list that came through a pipe, so that `dlm get` can repeat it. Addresses are kept without credentials, and
/// only this user can read them. The file gets its name only when it is whole.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var isBroken = false
  private var isClosed = false
  /// Whether the list now stands under its name.
  private(set) var isKept = false

  /// An older run's list stays until this one is whole: an empty pipe, or one that breaks off, replaces nothing.
  init(_ path: FilePath) { self.path = path }

  /// The list was not read to its end, and half of it must not be taken for the whole.
  func discard() {
    guard !isClosed else { return }
    isClosed = true
    isBroken = true
    pending = []
    draft = nil  // which removes it
  }

  func add(_ address: Address, _ options: LineOptions?) {
    pending += address.key.utf8
    if let options { pending += options.text.utf8 }
    pending.append(0x0A)
    if pending.count > FileDescriptor.blockSize { flush() }
  }

  /// The list is whole. Further calls do nothing.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    if !pending.isEmpty { flush() }
    guard !isBroken, draft != nil else { return }
    do throws(Errno) {
      try draft?.commit()
      isKept = true
    } catch {
      isBroken = true
    }
    draft = nil
  }

  /// A spool that cannot be written costs the convenience of repeating the list and nothing else, so it ends silently;
  /// the list that was remembered before stays.
  private func flush() {
    guard !isBroken else { return }
    do throws(Errno) {
      if draft == nil {
        try OwnFiles.makeFolder(path.removingLastComponent())
        draft = try DraftFile(for: path)
      }
      try draft?.write(pending)
      pending.removeAll(keepingCapacity: true)
    } catch {
      isBroken = true
      draft = nil
    }
  }
}
