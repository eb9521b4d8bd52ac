import DownloadModel
import Glibc
import SystemPackage

/// Reports when lists may have changed. It watches their folders, because editors replace the file. If the kernel does
/// not report changes (on a network's file system), the watcher polls.
actor ListNotices {
  private nonisolated let executor = BlockingExecutor(label: "list-notices")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  typealias Told = (list: Int, notice: ListStillness.Notice)

  private let paths: [String?]
  private nonisolated let interruption = Interruption()
  /// A queue of inotify(7); `nil` if it is not available.
  private let queue: FileDescriptor?
  /// By watch and name.
  private var places: [Int32: [String: Set<Int>]] = [:]

  init(_ paths: [String?]) {
    self.paths = paths
    let number = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
    queue = number >= 0 ? FileDescriptor(rawValue: number) : nil
  }

  deinit { try? queue?.close() }  // it was only read

  /// From any thread; permanent.
  nonisolated func interrupt() { interruption.raise() }

  /// The polling interval, a lower bound: other programs may write files in the folder thousands of times a second.
  private static let pace = Duration.milliseconds(50)

  func next(within time: Duration) -> [Told] {
    arm()
    let end = ContinuousClock.now + time
    while true {
      _ = interruption.waitUntilReadable(queue?.rawValue ?? -1, within: end - ContinuousClock.now)
      let told = take()
      let left = end - ContinuousClock.now
      if !told.isEmpty || left <= .zero || interruption.isRaised { return told }
      _ = interruption.waitUntilReadable(-1, within: min(Self.pace, left))
    }
  }

  /// Watches the folders, also those to which links lead. Each time anew, because another folder may have the name by
  /// now.
  func arm() {
    guard let queue else { return }
    let wanted = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
    for (list, path) in paths.enumerated() {
      guard let path else { continue }
      for place in Set([path, RunMemory.canonical(path) ?? path].map { FilePath($0) }) {
        let watch = inotify_add_watch(queue.rawValue, place.folder.string, UInt32(wanted))
        if watch >= 0 { places[watch, default: [:]][place.name, default: []].insert(list) }
      }
    }
  }

  /// inotify(7): 16 bytes with the length of the name, and the name.
  private func take() -> [Told] {
    var told: [Told] = []
    while let queue, let bytes = try? queue.block(), !bytes.isEmpty {
      var rest = bytes[...]
      while rest.count >= 16 {
        let event = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
        let length = Int(event.len)
        let name = rest.dropFirst(16).prefix(length).prefix { $0 != 0 }
        rest = rest.dropFirst(16 + length)
        let place = places[event.wd]?[String(utf8: name)]
        let lists = event.mask & UInt32(IN_Q_OVERFLOW) == 0 ? place ?? [] : Set(paths.indices)
        if let notice = Self.notice(event.mask) { told += lists.map { ($0, notice) } }
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
