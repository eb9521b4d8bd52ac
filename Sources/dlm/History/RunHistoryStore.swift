import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// Stores a history for each folder, in a file named after it (0600, because URLs may be signed), to which runs append
/// lines (`RunEvent`). The file is not synced: a power loss may lose or tear the newest lines.
struct RunHistoryStore {
  let folder: String
  /// Path without its extension; `nil` if nothing can be remembered.
  private let stem: String?
  let warning: String?

  init(state: FilePath?, folder: String, warning: String? = nil) {
    self.folder = folder
    self.warning = warning
    let digest = ContentHasher.digest(of: Array(folder.utf8))
    let name = digest.bytes.prefix(8).map { String($0, radix: 36) }.joined()
    stem = state?.appending("runs/\(name)").string
  }

  init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
    let folders = XDGFolders(environment)
    self.init(state: folders.state, folder: RunMemory.canonical(".") ?? "", warning: folders.stateWarning)
  }

  private var file: FilePath? { stem.map { FilePath($0 + Self.ending) } }
  private static let ending = ".jsonl"

  private static let spoolEnding = ".list"

  /// - Parameter run: each has a file of its own, because an earlier one may still be resumed.
  func spoolPath(of run: String) -> FilePath? { stem.map { FilePath("\($0)-\(run)\(Self.spoolEnding)") } }

  /// Whether a list came through a pipe to a run of this folder.
  func isSpool(_ list: String) -> Bool { stem.map(list.hasPrefix) == true && list.hasSuffix(Self.spoolEnding) }

  private static let mostSpools = 20

  /// Removes the oldest lists that came through pipes.
  func removeOldSpools() {
    guard let path = stem.map({ FilePath($0).removingLastComponent() }), let folder = try? Folder(standing: path)
    else { return }
    let spools = FileManager.default.names(in: path.string).filter { isSpool(path.appending($0).string) }
    let byChange = spools.map { (name: $0, time: (try? folder.standing($0))?.identity.modified ?? 0) }
    for spool in byChange.sorted(by: { $0.time > $1.time }).dropFirst(Self.mostSpools) {
      // Another process may have removed it.
      try? folder.remove(spool.name)
    }
  }

  var unnamedPath: FilePath? { stem.map { FilePath($0 + ".unnamed") } }

  // MARK: Reading

  func load() -> RunHistory? { RunHistory.all(events()).last }

  func times(of listDigest: String) -> RunTimes {
    RunTimes(events(with: listDigest).compactMap(\.ended), of: listDigest)
  }

  /// The runs that downloaded files, and so measured something, the oldest first.
  var past: [PastRun] { events().compactMap(\.ended).filter { $0.fetched > 0 } }

  private func events(with word: String? = nil) -> [RunEvent] {
    file.map { RunEvent.all(in: Self.bytes(of: $0), with: word) } ?? []
  }

  static func outputFolders(below state: FilePath) -> [String] {
    let folder = state.appending("runs")
    let names = FileManager.default.names(in: folder.string).filter { $0.hasSuffix(ending) }
    let runs = names.flatMap { RunHistory.all(RunEvent.all(in: bytes(of: folder.appending($0)))) }
    return Set(runs.flatMap { [$0.command.directory, $0.last?.directory].compactMap(\.self) }).sorted()
  }

  /// No history is longer: such a file is not dlm's.
  private static let longest: Int64 = 64 << 20

  private static func bytes(of path: FilePath) -> [UInt8] { OwnFiles.bytes(of: path, upTo: longest) }

  // MARK: Writing

  /// A longer history is rewritten with the events that still count: some two hundred runs.
  static let longestFile = 64 << 10

  /// Appends events in one write, so that those of several processes do not mix.
  /// - Returns: whether anything was remembered before.
  @discardableResult
  func append(_ events: [RunEvent]) throws(Errno) -> Bool {
    guard let file, !events.isEmpty else { return false }
    let text = RunEvent.text(events)
    let size: Int64
    do {
      let lines = try Self.locked(file, LOCK_SH)
      defer { lines.unlock() }
      size = try lines.identity().size
      let count = text.withUnsafeBytes { write(lines.raw, $0.baseAddress, $0.count) }
      if count < 0 { throw .last }
      // The rest is not written: another line may follow it by now.
      if count < text.count { throw .noSpace }
    }
    if size + Int64(text.count) > Self.longestFile { try Self.compact(file) }
    return size > 0
  }

  /// A process that appends a line meanwhile waits for the lock, and then finds the new file.
  private static func compact(_ file: FilePath) throws(Errno) {
    let lines = try locked(file, LOCK_EX)
    defer { lines.unlock() }
    guard try lines.identity().size > longestFile else { return }
    let text = RunEvent.text(RunHistory.fewer(RunEvent.all(in: bytes(of: file))))
    var draft = try DraftFile(for: file)
    try draft.write(text)
    try draft.commit()
  }

  /// Creates file and folder if missing; see `OwnFiles.locked`.
  private static func locked(_ path: FilePath, _ lock: Int32) throws(Errno) -> Descriptor {
    let file = try OwnFiles.locked(path.name, in: Folder(own: path.folder), lock)
    // Other users may have been given access since.
    _ = fchmod(file.raw, 0o600)
    return file
  }
}
