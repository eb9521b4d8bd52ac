import DownloadModel
import FoundationEssentials
import Glibc
import SystemPackage

/// Keeps a history for each folder, in a file named after it, to which each run adds lines (`RunEventLines`). Only this
/// user can read it, since addresses may be signed. Nothing is synced: after a loss of power the newest lines may be
/// missing or torn, and what stands before them counts.
struct RunHistoryStore {
  let folder: String
  /// Without its ending; nil where there is no folder for it: then nothing is remembered.
  private let stem: String?
  /// Why there is none, where that is to be said.
  let warning: String?

  /// - Parameter folder: the working directory, absolute.
  init(state: FilePath?, folder: String, warning: String? = nil) {
    (self.folder, self.warning) = (folder, warning)
    var name = ""
    let digest = ContentHasher.digest(of: Array(folder.utf8))
    for byte in digest.bytes.prefix(8) { name += String(byte, radix: 36) }
    stem = state?.appending("runs/\(name)").string
  }

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
  static func outputFolders(below state: FilePath) -> [String] {
    let runs = state.appending("runs")
    let files = FileManager.default.names(in: runs.string).filter { $0.hasSuffix(ending) }.map { runs.appending($0) }
    return Set(files.flatMap { RunEvents(RunEventLines.events(bytes(of: $0))).outputFolders }).sorted()
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
    let size = try Self.locked(file, LOCK_SH) { (lines, size) throws(Errno) in
      let count = text.withUnsafeBytes { write(lines, $0.baseAddress, $0.count) }
      if count < 0 { throw Errno(rawValue: errno) }
      // The rest is not tried: by now another line may stand behind it.
      if count < text.count { throw .noSpace }
      return size
    }
    if size + Int64(text.count) > Self.longestFile { try Self.compact(file) }
    return size > 0
  }

  /// Replaces the file by one that says the same in fewer lines. Whoever adds a line meanwhile waits for the lock, and
  /// finds the new file then.
  private static func compact(_ file: FilePath) throws(Errno) {
    try locked(file, LOCK_EX) { (_, size) throws(Errno) in
      // Another process may have done it meanwhile.
      guard size > longestFile else { return }
      let text = RunEventLines.text(RunEvents.fewer(RunEventLines.events(bytes(of: file))))
      var draft = try DraftFile(for: file)
      try draft.write(text)
      try draft.commit()
    }
  }

  /// Opens the file, and makes it, with its folder, where missing. It is locked: while one process replaces it, no
  /// other adds a line that would be lost with the old one.
  /// - Parameter lock: LOCK_SH for one who adds, LOCK_EX for one who replaces.
  private static func locked<Value>(
    _ path: FilePath, _ lock: Int32, _ work: (_ file: Int32, _ size: Int64) throws(Errno) -> Value
  ) throws(Errno) -> Value {
    var attempts = 0
    while true {
      attempts += 1
      try OwnFiles.makeFolder(path.removingLastComponent())
      let file = open(path.string, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw Errno(rawValue: errno) }
      defer { close(file) }
      guard OwnFiles.isBelieved(file, at: path) else { throw .notPermitted }
      // Where the file system knows no locks, the few lines that may be lost are no reason to keep none.
      while flock(file, lock) != 0, errno == EINTR {}
      var (mine, standing) = (stat(), stat())
      let isKnown = fstat(file, &mine) == 0 && stat(path.string, &standing) == 0
      // Else it was replaced meanwhile, by one who held the lock. Some file systems give one file several numbers:
      // there, too, this comes to an end.
      if isKnown, mine.st_ino == standing.st_ino && mine.st_dev == standing.st_dev || attempts > 20 {
        // A file that was opened to other readers since is closed again.
        if mine.st_mode & 0o077 != 0 { _ = fchmod(file, 0o600) }
        return try work(file, Int64(mine.st_size))
      }
    }
  }
}
