package import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
package import SystemPackage

/// The downloads of one process, as `dlm status` of another process shows them.
///
/// A run replaces its file, `PID.json` in a private folder, about once a second, and holds a lock on it, which the
/// kernel frees however the process ends. The next reader removes a snapshot without a lock.
package struct RunningDownloads: Equatable, Codable {
  /// A file in flight.
  package struct File: Equatable, Codable {
    /// Its URL, redacted.
    package var url: String
    /// Bytes received so far, including those of earlier runs.
    package var bytes: Int64
    /// Length of the complete file in bytes; `nil` if unknown.
    package var total: Int64?
  }

  /// Number of the process (getpid(2)).
  package var process: Int32
  /// The output folder.
  package var directory: String
  /// The folder where it was started; `nil` if an earlier version wrote the snapshot, as for all later optional fields.
  package var startedIn: String?
  /// Its first list and the number of further ones, for people.
  package var list: String?
  /// The completed fraction, from 0 to 1, and the remaining seconds; `nil` if unknown.
  package var fraction: Double?
  package var secondsLeft: Double?
  /// Requests read from its list so far, and whether the list was read to its end.
  package var listed: Int
  package var listIsComplete: Bool
  package var done: Int
  package var failed: Int
  /// Bytes of the finished files and of those in flight.
  package var bytes: Int64
  /// Body bytes per second, over the last few seconds.
  package var rate: Int64
  /// Some of the files in flight, those that started first.
  package var active: [File]
  /// The number of further files in flight.
  package var more: Int
  /// A snapshot in another version's format is ignored.
  private var v = Self.form

  private static let form = 1
  private static let named = 8

  /// The snapshot of this process; `rate` is in bytes per second.
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
  /// - Parameter path: the folder of the snapshots; not created if missing.
  package static func all(in path: FilePath) -> [RunningDownloads] {
    guard access(path.string, F_OK) == 0, let folder = try? Folder(own: path), let names = try? folder.names()
    else { return [] }
    return names.compactMap { isName($0) ? living($0, in: folder) : nil }.sorted { $0.process < $1.process }
  }

  fileprivate static func name(of process: Int32) -> String { "\(process).json" }
  fileprivate static func inbox(of process: Int32) -> String { "\(process).add" }
  /// Ends a complete text.
  fileprivate static let end = "\n\n"
  fileprivate static let over = "over"

  private static func isName(_ name: String) -> Bool {
    name.split(separator: ".").first.flatMap { Int32($0) }.map { Self.name(of: $0) == name } ?? false
  }

  private static func living(_ name: String, in folder: Folder) -> RunningDownloads? {
    // Twice, because the process may replace the snapshot at this moment.
    for _ in 0..<2 {
      guard let file = try? folder.openOwn(name), let json = try? file.read(1 << 20),
        let running = try? JSONDecoder().decode(RunningDownloads.self, from: Data(json)),
        running.v == form
      else { return nil }
      // Shared, so that two simultaneous readers do not each take the other for the living process.
      if flock(file.raw, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK { return running }
      if (try? folder.has(file, as: name)) == true {
        // A process locks its file before the file gets its name. So the process of an unlocked file has ended.
        try? folder.remove(name)
        return nil
      }
    }
    return nil
  }

  /// Passes URLs to the run in a file, which the run removes after it has written its answer there.
  /// - Returns: the number of new URLs and of known ones; `nil` if the run has ended.
  /// - Throws: errno if the file cannot be written; the file is then not left behind.
  package func add(_ addresses: [String], in path: FilePath) async throws(Errno) -> (added: Int, known: Int)? {
    var file = Descriptor.closed
    let inbox = Self.inbox(of: process)
    while true {
      let folder = try Folder(own: path)
      // Checked before the answer is read: a process that has ended writes no further answer.
      let isAlive = Self.all(in: path).contains { $0.process == process }
      if file.isOpen, try file.linkCount() == 0 {
        let answer = String(utf8: try file.read(64)).prefix { $0 != "\n" }
        let counts = answer.split(separator: " ").compactMap { Int($0) }
        if counts.count == 2 { return (counts[0], counts[1]) }
        if answer == Self.over { return nil }
        // The file was removed without an answer: by the end of the run, or by a process that took this one for dead.
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
          // Another process is adding URLs at this moment.
          guard error == .fileExists else { throw error }
          try Self.removeOfDead(inbox, in: folder)
        }
      }
      guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { throw .canceled }
    }
  }

  /// Removes the inbox of a killed process, so that no run reads it and no process waits for it.
  private static func removeOfDead(_ inbox: String, in folder: Folder) throws(Errno) {
    if let file = try folder.openOwn(inbox, names: 2), file.lock() { try folder.remove(inbox) }
  }
}

extension RunningDownloads {
  /// Keeps the snapshot file of this process, on a thread that may wait for the disk.
  package actor SnapshotFile {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let thread = BlockingExecutor(label: "dlm.running")
    private let path: FilePath
    private let name = RunningDownloads.name(of: getpid())
    private var draft: String { name + ".new" }
    /// The current snapshot, open and locked.
    private var standing = Descriptor.closed

    /// - Parameter path: the folder, created with the first snapshot.
    package init(in path: FilePath) { self.path = path }

    package func write(_ running: RunningDownloads) {
      do {
        let folder = try Folder(own: path)
        // A killed process with the same number, or a failed write, may have left a file of that name.
        guard try folder.removeOwn(draft) else { return }
        let file = try folder.open(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        guard file.lock() else { return }
        // Strings and integers always encode.
        try file.write((try? JSONEncoder().encode(running)).map(Array.init) ?? [])
        // A killed process with the same number may have left an inbox. This process is not published yet.
        if !standing.isOpen { try folder.remove(RunningDownloads.inbox(of: getpid())) }
        try folder.rename(draft, replacing: name)
        standing = file
      } catch {
        // The next write tries again.
        if let folder = try? Folder(own: path) { try? folder.remove(draft) }
      }
    }

    /// Takes the URLs that another process adds to this process's run (`RunningDownloads.add`).
    /// - Parameter add: returns the number of new URLs and of known ones; `nil` if the run has ended.
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
}
