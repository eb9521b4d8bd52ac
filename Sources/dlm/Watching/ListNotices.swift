import DownloadModel
import Glibc
import SystemPackage

/// Tells when lists may have changed, on a thread that may wait. It watches the lists' folders and not the lists, since
/// an editor puts another file in a list's place. Where the kernel does not tell (a network's file system, changes by
/// another machine), whoever waits looks by himself now and then.
actor ListNotices {
  private nonisolated let executor = BlockingExecutor(label: "list-notices")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

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
      _ = interruption.waitUntilReadable(queue?.rawValue ?? -1, within: ContinuousClock.now.duration(to: end))
      let told = take()
      let left = ContinuousClock.now.duration(to: end)
      if !told.isEmpty || left <= .zero || interruption.isRaised { return told }
      _ = interruption.waitUntilReadable(-1, within: min(Self.pace, left))
    }
  }

  /// Watches the folders, those besides to which links lead. Each time anew, since a folder may have come, or another
  /// may have its name; it costs a system call a list.
  func arm() {
    guard let queue else { return }
    let wanted = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
    for (list, path) in paths.enumerated() {
      guard let path else { continue }
      for place in Set([path, RunMemory.canonical(path)].compactMap { $0.map { FilePath($0) } }) {
        let folder = place.removingLastComponent().string
        let watch = inotify_add_watch(queue.rawValue, folder.isEmpty ? "." : folder, UInt32(wanted))
        let name = place.lastComponent?.string ?? ""
        if watch >= 0 { places[Place(watch: watch, name: name), default: []].insert(list) }
      }
    }
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

/// When a list that changes is read, and whether what is missing in it is believed: a pure rule. A list is often seen
/// half written: emptied and filled again, or gone for a moment. New lines may begin at once, since they can only be
/// too early; what is missing is believed when the writer has closed the list or another has taken its name, and the
/// list has been still since. Where nobody can tell whether it is being written, it must have been still for longer.
struct ListStillness {
  enum Notice: Equatable {
    /// Bytes were written, or it was made or emptied: somebody has it open.
    case written
    /// Who wrote it has closed it, or it was renamed to its name, or removed: it is as it is meant to be.
    case closed
    /// It is another than before; how, nobody told.
    case differs
  }

  enum Step: Equatable {
    case rest
    case wait(until: Duration)
    case look(believesLosses: Bool)
  }

  /// Between the parts of one change.
  static let settling = Duration.milliseconds(200)
  /// For a list that changes without a pause.
  private static let longest = Duration.seconds(1)
  /// Where nobody tells who writes.
  static let doubt = Duration.seconds(5)
  /// For a writer that keeps the list open and writes nothing.
  static let openDoubt = Duration.seconds(30)

  private struct Change {
    var first: Duration
    var last: Duration
    /// It was read, and what is missing was not believed.
    var isSeen = false
  }

  private var change: Change?
  private var latest = Notice.closed

  mutating func note(_ notice: Notice, at now: Duration) {
    // Whoever looks again learns nothing of who writes.
    if notice != .differs || change == nil { latest = notice }
    change = Change(first: change.flatMap { $0.isSeen ? nil : $0.first } ?? now, last: now)
  }

  func step(at now: Duration) -> Step {
    guard let change else { return .rest }
    let believed = change.last + patience
    if now >= believed { return .look(believesLosses: true) }
    if change.isSeen { return .wait(until: believed) }
    let glance = min(change.last + Self.settling, change.first + Self.longest)
    return now >= glance ? .look(believesLosses: false) : .wait(until: glance)
  }

  /// It was read, and has not changed since.
  mutating func looked(believesLosses: Bool) {
    if believesLosses { change = nil } else { change?.isSeen = true }
  }

  private var patience: Duration {
    switch latest {
    case .closed: Self.settling
    case .differs: Self.doubt
    case .written: Self.openDoubt
    }
  }
}
