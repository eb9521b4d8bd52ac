import DownloadModel
import Foundation
import Glibc
import SystemPackage

/// Keeps a list that came through a pipe, so that `dlm get` can repeat it. Addresses are kept without
/// credentials. It takes its name only when whole.
final class ListSpool {
  let path: FilePath
  private var pending: [UInt8] = []
  private var file: FileDescriptor?
  private var isBroken = false
  private var isClosed = false

  /// An older run's list goes: it must not be taken for this one's, which may not come to its end.
  init(_ path: FilePath) {
    self.path = path
    _ = unlink(path.string)  // there may be none
  }

  /// The list was not read to its end: half of it must not be taken for the whole.
  func discard() {
    guard !isClosed else { return }
    isClosed = true
    isBroken = true
    pending = []
    try? file?.close()  // it is thrown away
    file = nil
    _ = unlink(temporary.string)  // there may be none
  }

  func add(_ address: Address) {
    pending += address.key.utf8
    pending.append(0x0A)
    if pending.count > 64 * 1024 { flush() }
  }

  /// The list is whole. Said again, it does nothing.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    flush()
    guard let file, !isBroken else { return }
    do {
      try file.close()
      guard rename(temporary.string, path.string) == 0 else { throw Errno(rawValue: errno) }
    } catch {
      isBroken = true
    }
    self.file = nil
  }

  private var temporary: FilePath { FilePath(path.string + ".new") }

  /// A spool that cannot be written costs the convenience of repeating the list and nothing else, so it ends
  /// silently; `dlm get` without a source then says that there is no list.
  private func flush() {
    guard !isBroken else { return }
    do {
      if file == nil {
        try FileManager.default.createDirectory(
          atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        file = try FileDescriptor.open(
          temporary, .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
      }
      try file?.writeAll(pending)
      pending.removeAll(keepingCapacity: true)
    } catch {
      isBroken = true
    }
  }
}
