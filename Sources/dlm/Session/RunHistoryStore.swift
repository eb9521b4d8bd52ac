import DownloadModel
import Glibc
import SystemPackage

/// Keeps a history for each folder, in a file named after it, to which each run adds lines (`RunEventLines`). Only this
/// user can read it, since addresses may be signed.
///
/// Nothing is synced: after a loss of power the newest lines may be missing or torn, and what stands before them
/// counts.
struct RunHistoryStore {
  let folder: String
  /// Without its ending; nil where there is no folder for it: then nothing is remembered.
  private let stem: String?
  /// Why there is none, where that is to be said.
  let warning: String?

  /// - Parameters:
  ///   - state: `$XDG_STATE_HOME/dlm`.
  ///   - folder: the working directory, absolute.
  init(state: FilePath?, folder: String, warning: String? = nil) {
    self.folder = folder
    self.warning = warning
    var name = ""
    let digest = ContentHasher.digest(of: Array(folder.utf8))
    for byte in digest.bytes.prefix(8) { name += String(byte, radix: 36) }
    stem = state?.appending("runs/\(name)").string
  }

  /// The store of the working directory.
  init(_ environment: [String: String]) {
    let folders = XDGFolders(environment)
    self.init(state: folders.state, folder: Self.workingFolder, warning: folders.stateWarning)
  }

  /// Absolute; empty where it is gone.
  private static var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "" }
    defer { free(path) }
    return String(cString: path)
  }

  private var file: FilePath? { stem.map { FilePath($0 + Self.ending) } }
  private static let ending = ".jsonl"

  /// Where a list from standard input is kept for the same folder.
  var spoolPath: FilePath? { stem.map { FilePath($0 + ".list") } }

  // MARK: Reading

  /// Nil when there is none.
  func load() -> RunHistory? { RunEvents(events()).history(of: folder) }

  /// How long the modes took for a list. Lines of others are passed over unread.
  func times(of listDigest: String) -> RunTimes {
    RunTimes(events(with: listDigest).compactMap(\.ended), of: listDigest)
  }

  /// The runs that fetched something, the oldest first; what fetched nothing measured nothing.
  var past: [PastRun] { events().compactMap(\.ended).filter { $0.fetched > 0 } }

  private func events(with word: String? = nil) -> [RunEvent] {
    file.map { RunEventLines.events(Self.bytes(of: $0), with: word) } ?? []
  }

  /// Where remembered runs of all working folders put their files.
  /// - Parameter state: `$XDG_STATE_HOME/dlm`.
  static func outputFolders(below state: FilePath) -> [String] {
    let runs = state.appending("runs")
    guard let folder = opendir(runs.string) else { return [] }
    defer { closedir(folder) }
    var found: Set<String> = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.utf8.suffix(ending.utf8.count).elementsEqual(ending.utf8) else { continue }
      found.formUnion(RunEvents(RunEventLines.events(bytes(of: runs.appending(name)))).outputFolders)
    }
    return found.sorted()
  }

  /// More than any history is; what is longer is not dlm's.
  private static let longest = 64 << 20

  /// - Returns: nothing for a file that is missing, cannot be read or is not believed.
  private static func bytes(of path: FilePath) -> [UInt8] { OwnFiles.bytes(of: path, upTo: longest) }

  // MARK: Writing

  /// A history that is longer is written anew with what still counts: some two hundred runs.
  static let longestFile = 64 << 10

  /// Adds events, in one write, so that those of several processes do not mix.
  /// - Returns: whether anything was remembered before.
  /// - Throws: Errno.
  @discardableResult
  func append(_ events: [RunEvent]) throws(Errno) -> Bool {
    guard let file, !events.isEmpty else { return false }
    let text = RunEventLines.text(events)
    let lines = try HistoryFile.open(file, lock: LOCK_SH)
    let size = lines.size
    let failure = lines.append(text)
    lines.close()
    if let failure { throw failure }
    if size + Int64(text.count) > Self.longestFile { try Self.compact(file) }
    return size > 0
  }

  /// Replaces the file by one that says the same in fewer lines. Whoever adds a line meanwhile waits for the lock, and
  /// finds the new file then.
  private static func compact(_ file: FilePath) throws(Errno) {
    let lines = try HistoryFile.open(file, lock: LOCK_EX)
    defer { lines.close() }
    // Another process may have done it meanwhile.
    guard lines.size > longestFile else { return }
    let text = RunEventLines.text(RunEvents.fewer(RunEventLines.events(bytes(of: file))))
    var draft = try DraftFile(for: file)
    try draft.write(text)
    try draft.commit()
  }
}

/// The file of a history, open and locked: while one process replaces it, no other adds a line that would be lost with
/// the old one.
struct HistoryFile {
  private let descriptor: Int32
  let size: Int64

  /// Opens the file, and makes it, with its folder, where missing.
  /// - Parameter lock: LOCK_SH for one who adds, LOCK_EX for one who replaces.
  static func open(_ path: FilePath, lock: Int32) throws(Errno) -> HistoryFile {
    var attempts = 0
    while true {
      attempts += 1
      let descriptor = try openOrMake(path)
      var (mine, standing) = (stat(), stat())
      // Where the file system knows no locks, the few lines that may be lost are no reason to keep none.
      while flock(descriptor, lock) != 0, errno == EINTR {}
      let isKnown = fstat(descriptor, &mine) == 0 && stat(path.string, &standing) == 0
      // Some file systems give one file several numbers: there, too, this comes to an end.
      if isKnown, mine.st_ino == standing.st_ino && mine.st_dev == standing.st_dev || attempts > 20 {
        // A file that was opened to other readers since is closed again.
        if mine.st_mode & 0o077 != 0 { _ = fchmod(descriptor, 0o600) }
        return HistoryFile(descriptor: descriptor, size: Int64(mine.st_size))
      }
      // It was replaced meanwhile, by one who held the lock.
      _ = Glibc.close(descriptor)
    }
  }

  private static func openOrMake(_ path: FilePath) throws(Errno) -> Int32 {
    try OwnFiles.makeFolder(path.removingLastComponent())
    let descriptor = Glibc.open(path.string, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Errno(rawValue: errno) }
    guard OwnFiles.isBelieved(descriptor, at: path) else {
      _ = Glibc.close(descriptor)
      throw .notPermitted
    }
    return descriptor
  }

  /// - Returns: nil if all of it was written. The rest is not tried: by now another line may stand behind it.
  func append(_ text: [UInt8]) -> Errno? {
    let count = text.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    if count < 0 { return Errno(rawValue: errno) }
    return count < text.count ? .noSpace : nil
  }

  func close() { _ = Glibc.close(descriptor) }
}
