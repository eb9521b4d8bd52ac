import DownloadModel
import Glibc
import SystemPackage

/// Tells when lists may have changed, on a thread that may wait.
///
/// It watches the lists' folders and not the lists, since an editor puts another file in a list's place. Where the
/// kernel does not tell (a network's file system, changes by another machine), whoever waits looks by himself now and
/// then.
actor ListNotices {
  private nonisolated let executor = BlockingExecutor(label: "list-notices")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// What was told of the list at a place.
  struct Told: Equatable {
    var list: Int
    var notice: ListStillness.Notice
  }

  private struct Place: Hashable {
    var watch: Int32
    var name: String
  }

  private let paths: [String?]
  private nonisolated let interruption = Interruption()
  /// Nil where there is none to be had; then there are only looks.
  private let queue: FileDescriptor?
  private var places: [Place: Set<Int>] = [:]

  /// - Parameter paths: of the lists; nil for what is no file.
  init(_ paths: [String?]) {
    self.paths = paths
    let number = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
    queue = number >= 0 ? FileDescriptor(rawValue: number) : nil
  }

  deinit { try? queue?.close() }  // it was only read

  /// Ends the wait, for good. From any thread.
  nonisolated func interrupt() { interruption.raise() }

  /// What others do in the same folder wakes it too, and files may be written there thousands of times a second: so it
  /// looks no oftener than this.
  private static let pace = Duration.milliseconds(50)

  /// Waits until something is told, or a time has passed.
  func next(within time: Duration) -> [Told] {
    arm()
    let end = ContinuousClock.now.advanced(by: time)
    while true {
      interruption.wait(for: queue?.rawValue ?? -1, within: ContinuousClock.now.duration(to: end))
      let told = take()
      let left = ContinuousClock.now.duration(to: end)
      if !told.isEmpty || left <= .zero || interruption.isRaised { return told }
      interruption.wait(for: -1, within: min(Self.pace, left))
    }
  }

  /// Watches the folders, those besides to which links lead. Each time anew, since a folder may have come, or another
  /// may have its name; it costs a system call a list.
  func arm() {
    guard let queue else { return }
    let wanted = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
    for (list, path) in paths.enumerated() {
      guard let path else { continue }
      for place in Set([path, Self.resolved(path)].compactMap { $0 }) {
        let (folder, name) = Self.split(place)
        let watch = inotify_add_watch(queue.rawValue, folder, UInt32(wanted))
        if watch >= 0 { places[Place(watch: watch, name: name), default: []].insert(list) }
      }
    }
  }

  private static func resolved(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func split(_ path: String) -> (folder: String, name: String) {
    let path = FilePath(path)
    let folder = path.removingLastComponent().string
    return (folder.isEmpty ? "." : folder, path.lastComponent?.string ?? "")
  }

  private func take() -> [Told] {
    var told: [Told] = []
    while let queue, let bytes = try? queue.block(), !bytes.isEmpty { told += self.told(bytes) }
    return told
  }

  /// The kernel's `inotify_event`s: watch, mask, cookie, length of the name, name.
  private func told(_ bytes: [UInt8]) -> [Told] {
    var told: [Told] = []
    var offset = 0
    bytes.withUnsafeBytes { bytes in
      while offset + 16 <= bytes.count {
        let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
        let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
        let name = bytes[(offset + 16)..<min(offset + 16 + length, bytes.count)].prefix { $0 != 0 }
        offset += 16 + length
        let place = Place(watch: watch, name: String(decoding: name, as: UTF8.self))
        let lists = mask & UInt32(IN_Q_OVERFLOW) == 0 ? places[place] ?? [] : Set(paths.indices)
        if let notice = Self.notice(mask) { told += lists.map { Told(list: $0, notice: notice) } }
      }
    }
    return told
  }

  private static func notice(_ mask: UInt32) -> ListStillness.Notice? {
    if mask & UInt32(IN_Q_OVERFLOW) != 0 { return .differs }
    if mask & UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE) != 0 { return .closed }
    return mask & UInt32(IN_CREATE | IN_MODIFY) != 0 ? .written : nil
  }
}
