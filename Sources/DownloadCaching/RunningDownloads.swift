package import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
package import SystemPackage

/// What one process has under way, as `dlm status` of another process shows it.
///
/// A run replaces its file, `PID.json` in a private folder, about once a second, and holds a lock on it, which the
/// kernel frees however the process ends. The next reader removes a snapshot without a lock.
package struct RunningDownloads: Sendable, Equatable, Codable {
  /// A file under way.
  package struct File: Sendable, Equatable, Codable {
    /// Its address, without what signs it.
    package var url: String
    /// Bytes that are there, those of earlier runs included.
    package var bytes: Int64
    /// Length of the whole file in bytes; nil while unknown.
    package var total: Int64?
  }

  /// Number of the process (getpid(2)).
  package var process: Int32
  /// Where its files go.
  package var directory: String
  /// Where it was started; nil from an earlier version, as all that follow where they are optional.
  package var startedIn: String?
  /// What it downloads, for people: its first list, and how many more.
  package var list: String?
  /// How much of it is done, from 0 to 1, and the seconds that are left; nil while unknown.
  package var fraction: Double?
  package var secondsLeft: Double?
  /// Requests read from its list so far, and whether those are all.
  package var listed: Int
  package var listIsComplete: Bool
  package var done: Int
  package var failed: Int
  /// Of the files that are done and of those under way.
  package var bytes: Int64
  /// Body bytes a second, over the last few seconds.
  package var rate: Int64
  /// Some of the files under way, those that began first.
  package var active: [File]
  /// How many more are under way.
  package var more: Int
  /// A snapshot in another version's format is ignored.
  private var v = Self.form

  private static let form = 1
  private static let named = 8

  /// The snapshot of this process; `rate` is in bytes a second.
  package init(_ sample: ProgressSample, directory: String, rate: Int64) {
    process = getpid()
    self.directory = directory
    listed = sample.tally.listed
    listIsComplete = sample.tally.listIsComplete
    done = sample.tally.done
    failed = sample.tally.failed
    bytes = sample.active.reduce(sample.tally.finishedBytes) { $0 + $1.meter.position }
    self.rate = rate
    active = sample.active.sorted { $0.id < $1.id }.prefix(Self.named).map {
      File(url: $0.address.redacted, bytes: $0.meter.position, total: $0.meter.total)
    }
    more = sample.active.count - active.count
  }

  /// The snapshots of all living processes of this user, by process number.
  /// - Parameter path: the folder of the snapshots; it is not made if missing.
  package static func all(in path: FilePath) -> [RunningDownloads] {
    guard access(path.string, F_OK) == 0, let folder = try? Folder(own: path), let names = try? folder.names()
    else { return [] }
    return names.compactMap { isName($0) ? living($0, in: folder) : nil }.sorted { $0.process < $1.process }
  }

  fileprivate static func name(of process: Int32) -> String { "\(process).json" }
  fileprivate static func inbox(of process: Int32) -> String { "\(process).add" }
  /// Behind a text that is whole.
  fileprivate static let end = "\n\n"
  fileprivate static let over = "over"

  private static func isName(_ name: String) -> Bool {
    name.split(separator: ".").first.flatMap { Int32($0) }.map { Self.name(of: $0) == name } ?? false
  }

  private static func living(_ name: String, in folder: Folder) -> RunningDownloads? {
    // Twice, because the process may replace the snapshot just now.
    for _ in 0..<2 {
      guard let file = try? folder.openOwn(name), let json = try? file.read(1 << 20),
        let running = try? JSONDecoder().decode(RunningDownloads.self, from: Data(json)),
        running.v == form
      else { return nil }
      // Shared, so that two readers at once do not each mistake the other for the living process.
      if flock(file.raw, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK { return running }
      if (try? folder.has(file, as: name)) == true {
        // A process locks its file before that gets its name: so this one's process has ended.
        try? folder.remove(name)
        return nil
      }
    }
    return nil
  }

  /// Hands addresses to the run, in a file that it removes once its answer stands there.
  /// - Returns: how many it did not have, and how many it had; nil if it is over.
  /// - Throws: why the file cannot be written, which then is not left behind.
  package func add(_ addresses: [String], in path: FilePath) async throws(Errno) -> (added: Int, known: Int)? {
    var file = Descriptor.closed
    let inbox = Self.inbox(of: process)
    while true {
      let folder = try Folder(own: path)
      // Where its process has ended it takes nothing any more, so that is looked at first.
      let isAlive = Self.all(in: path).contains { $0.process == process }
      if file.isOpen, try file.linkCount() == 0 {
        let answer = String(utf8: try file.read(64)).prefix { $0 != "\n" }
        let counts = answer.split(separator: " ").compactMap { Int($0) }
        if counts.count == 2 { return (counts[0], counts[1]) }
        if answer == Self.over { return nil }
        // It was removed without an answer: by the end of the run, or by a process that took this one for dead.
        file = .closed
      }
      if !isAlive {
        if file.isOpen { try folder.remove(inbox) }
        return nil
      }
      if !file.isOpen {
        do {
          file = try folder.make(inbox, Array((addresses.joined(separator: "\n") + Self.end).utf8))
        } catch {
          // Another process is adding just now.
          guard error == .fileExists else { throw error }
          try Self.removeOfDead(inbox, in: folder)
        }
      }
      guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { throw .canceled }
    }
  }

  /// Removes an inbox whose process was killed, so that no run takes it and no process waits for it.
  private static func removeOfDead(_ inbox: String, in folder: Folder) throws(Errno) {
    if let file = try folder.openOwn(inbox, names: 2), file.lock() { try folder.remove(inbox) }
  }
}

/// Keeps the snapshot file of this process, on a thread that may wait for the disk.
package actor RunningDownloadsFile {
  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  private let thread = BlockingExecutor(label: "dlm.running")
  private let path: FilePath
  private let name = RunningDownloads.name(of: getpid())
  private var draft: String { name + ".new" }
  /// The current snapshot, open and locked.
  private var standing = Descriptor.closed

  /// - Parameter path: the folder, made with the first snapshot.
  package init(in path: FilePath) { self.path = path }

  package func write(_ running: RunningDownloads) {
    do {
      let folder = try Folder(own: path)
      // A file of that name was left by a killed process with the same number, or by a failed write.
      guard try folder.removeOwn(draft) else { return }
      let file = try folder.open(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
      guard file.lock() else { return }
      // Strings and integers always encode.
      try file.write((try? JSONEncoder().encode(running)).map(Array.init) ?? [])
      // Left by a killed process with the same number: this one is not published yet.
      if !standing.isOpen { try folder.remove(RunningDownloads.inbox(of: getpid())) }
      try folder.rename(draft, replacing: name)
      standing = file
    } catch {
      // The next write tries again.
      if let folder = try? Folder(own: path) { try? folder.remove(draft) }
    }
  }

  /// Takes what another process adds to this one's run (`RunningDownloads.add`).
  /// - Parameter add: gives how many addresses the run did not have, and how many it had; nil if it is over.
  package func takeAdded(_ add: ([String]) async -> (added: Int, known: Int)?) async {
    let inbox = RunningDownloads.inbox(of: getpid())
    guard standing.isOpen, let folder = try? Folder(own: path), let file = try? folder.openOwn(inbox, O_RDWR),
      let text = (try? file.read(Int(file.identity().size))).map({ String(utf8: $0) }),
      text.hasSuffix(RunningDownloads.end)
    else { return }
    let counts = await add(text.split(separator: "\n").map(String.init))
    try? file.write(Array((counts.map { "\($0.added) \($0.known)" } ?? RunningDownloads.over).utf8 + [0x0A]))
    try? folder.remove(inbox)
  }

  package func remove() {
    guard standing.isOpen, let folder = try? Folder(own: path) else { return }
    for name in [draft, name, RunningDownloads.inbox(of: getpid())] { try? folder.remove(name) }
    standing = .closed
  }
}
