import Crypto
import DownloadModel
import Foundation
import Glibc
import SystemPackage

/// What the last `get` in a folder was, and how long each mode took for its list.
struct RunHistory: Codable, Equatable {
  /// Raised when an older dlm would misread what a newer one wrote.
  static let version = 2

  private(set) var version = Self.version
  /// The working folder, absolute.
  var folder: String
  /// Lists by their whole path, addresses without credentials.
  var sources: [String]
  /// As the user would type them; see `RememberedOptions`.
  var options: [String] = []
  var withheld: [Withheld] = []
  /// Nil while a run is under way, and after one that did not end whole.
  var last: WholeRun?
  /// By mode: the runs that measured it.
  var runs: [String: Run] = [:]

  /// A run after which every file of its list was there.
  struct WholeRun: Codable, Equatable {
    var mode: DownloadMode
    var listDigest: String
    /// The output folder, absolute and without links.
    var directory: String
  }

  struct Run: Codable, Equatable {
    var listDigest: String
    var jobs: Int
    /// Files whose bodies came over the network.
    var fetched: Int
    /// The bytes of those files that were not here before.
    var transferredBytes: Int64
    var seconds: Double
    var endedAt: Date

    /// Whether both moved the same files; a run that found most of them unchanged measures something else.
    /// For files without a byte, this cannot tell whether they were fetched.
    func didSameWork(as other: Run) -> Bool {
      listDigest == other.listDigest && transferredBytes == other.transferredBytes
        && (transferredBytes > 0 || fetched == other.fetched)
    }
  }

  init(folder: String, sources: [String]) { (self.folder, self.sources) = (folder, sources) }

  private enum CodingKeys: String, CodingKey {
    case version, folder, sources, options, withheld, last, runs
  }

  /// - Throws: also for a later version's file.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    // The first version had neither a number, nor options.
    let version = try values.decodeIfPresent(Int.self, forKey: .version) ?? 1
    guard version <= Self.version else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: values, debugDescription: "version \(version) is of a later dlm")
    }
    folder = try values.decode(String.self, forKey: .folder)
    sources = try values.decode([String].self, forKey: .sources)
    options = try values.decodeIfPresent([String].self, forKey: .options) ?? []
    withheld = try values.decodeIfPresent([Withheld].self, forKey: .withheld) ?? []
    last = try values.decodeIfPresent(WholeRun.self, forKey: .last)
    runs = try values.decode([String: Run].self, forKey: .runs)
  }

  /// An earlier run of the same list in another mode.
  struct Comparison: Equatable {
    var mode: DownloadMode
    var run: Run
    /// Both moved the same files over the network.
    var isFair: Bool
  }

  /// The newest run of the same list in another mode; one that can be compared goes before one that cannot.
  /// Nil also for a run that fetched nothing, because it measures nothing.
  func comparison(for this: Run, in mode: DownloadMode) -> Comparison? {
    guard this.fetched > 0 else { return nil }
    let others = runs.compactMap { name, run -> Comparison? in
      guard let other = DownloadMode(rawValue: name), other != mode, run.listDigest == this.listDigest else {
        return nil
      }
      return Comparison(mode: other, run: run, isFair: run.didSameWork(as: this))
    }
    return others.max { ($0.isFair ? 1 : 0, $0.run.endedAt) < ($1.isFair ? 1 : 0, $1.run.endedAt) }
  }

  /// The known times of a list without another run: the fastest mode, and sequential or the slowest, of those
  /// that did the same work.
  func measured(_ listDigest: String) -> (fast: Comparison, slow: Comparison)? {
    let all = runs.compactMap { name, run -> Comparison? in
      guard let mode = DownloadMode(rawValue: name), run.listDigest == listDigest else { return nil }
      return Comparison(mode: mode, run: run, isFair: true)
    }.sorted { $0.run.seconds < $1.run.seconds }
    guard let fast = all.first else { return nil }
    let others = all.dropFirst().filter { $0.run.didSameWork(as: fast.run) }
    return (others.first { $0.mode == .sequential } ?? others.last).map { (fast, $0) }
  }

  /// Notes how long a mode took.
  ///
  /// A run that fetched nothing, or less than the one before it, did other work, so the measured time stays.
  mutating func note(_ run: Run, of mode: DownloadMode) {
    guard run.fetched > 0 else { return }
    if let earlier = runs[mode.rawValue], earlier.listDigest == run.listDigest,
      run.fetched <= earlier.fetched,
      run.transferredBytes < earlier.transferredBytes
    {
      return
    }
    runs[mode.rawValue] = run
  }
}

/// Keeps a history for each folder, in a file named after it. Only this user can read it, since addresses may
/// be signed.
struct RunHistoryStore {
  let folder: String
  /// Nil where there is no folder for it: then nothing is remembered.
  private let file: FilePath?

  /// - Parameters:
  ///   - state: `$XDG_STATE_HOME/dlm`.
  ///   - folder: the working directory, absolute.
  init(state: FilePath?, folder: String) {
    self.folder = folder
    let name = SHA256.hash(data: Array(folder.utf8)).prefix(8).map { String($0, radix: 36) }.joined()
    file = state?.appending("runs").appending(FilePath(name + ".json").components)
  }

  /// The store of the working directory.
  init(_ environment: [String: String]) {
    self.init(
      state: XDGFolders(environment).state, folder: FileManager.default.currentDirectoryPath)
  }

  /// Where a list from standard input is kept for the same folder.
  var spoolPath: FilePath? { file.map { FilePath($0.string.dropLast(5) + ".list") } }

  /// Nil when there is none, or when a later version wrote it in its own format.
  func load() -> RunHistory? {
    guard let file, let data = FileManager.default.contents(atPath: file.string) else { return nil }
    return try? JSONDecoder().decode(RunHistory.self, from: data)
  }

  /// Writes a new file and renames it, so that a reader finds the old history or the new one.
  /// - Throws: Errno, or what the encoder throws.
  func save(_ history: RunHistory) throws {
    guard let file else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(history)
    try PrivateFolder.make(file.removingLastComponent())
    var draft = try DraftFile(for: file)
    try draft.write(data)
    try draft.commit()
  }

  /// - Throws: Errno.
  func remove() throws {
    guard let file else { return }
    guard unlink(file.string) == 0 || errno == ENOENT else { throw Errno(rawValue: errno) }
  }
}

/// Keeps a list that came through a pipe, so that `dlm get` can repeat it. Addresses are kept without
/// credentials, and only this user can read them. The file gets its name only when it is whole.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var isBroken = false
  private var isClosed = false
  /// Whether the list now stands under its name.
  private(set) var isKept = false

  /// An older run's list stays until this one is whole: an empty pipe, or one that breaks off, replaces
  /// nothing.
  init(_ path: FilePath) { self.path = path }

  /// The list was not read to its end, and half of it must not be taken for the whole.
  func discard() {
    guard !isClosed else { return }
    isClosed = true
    isBroken = true
    pending = []
    draft = nil  // which removes it
  }

  func add(_ address: Address) {
    pending += address.key.utf8
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

  /// A spool that cannot be written costs the convenience of repeating the list and nothing else, so it ends
  /// silently; the list that was remembered before stays.
  private func flush() {
    guard !isBroken else { return }
    do throws(Errno) {
      if draft == nil {
        try PrivateFolder.make(path.removingLastComponent())
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
