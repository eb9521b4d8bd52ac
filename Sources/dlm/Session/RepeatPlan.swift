import ArgumentParser
import DownloadCaching
import FileReceiving
import DownloadModel
import Glibc
import Synchronization
import SystemPackage
import TerminalProgress

/// Fetches the last list of a folder once more in another mode, to compare.
struct RepeatPlan {
  let mode: DownloadMode
  let other: DownloadMode
  /// Nil if the other mode never fetched the whole list.
  let otherRun: PastRun?
  let ownRun: PastRun?
  let list: String

  var sizes: ExpectedSizes? { (otherRun ?? ownRun)?.sizes }

  var bytes: Int64 { otherRun?.transferredBytes ?? ownRun?.transferredBytes ?? 0 }
}

/// Why a list that is taken again is not repeated to compare.
enum NotRepeated: Error {
  /// The mode is the last run's; or the user asked to fetch anew, or from the disk only, which concerns the files here.
  case notAsked
  case because(Reason, other: DownloadMode)

  enum Reason: String, CaseIterable {
    case cutShort = "its run was cut short, skipped files, or downloaded none"
    case otherFolder = "its files are in another folder"
    case otherList = "the list has changed since"
    case readOnce = "the list can be read only once"
    case sameStrategy = "both modes run a task group"
    case waited = "its run waited for a busy server"
  }
}

extension RepeatPlan {
  init(
    _ last: LastList, _ sources: [Source], _ settings: Settings, noCompare: Bool, fetching: ListAtAddress.Fetching
  ) async throws(NotRepeated) {
    guard !noCompare, !settings.output.cache.refresh, !settings.output.cache.offline,
      let other = last.history.command.mode, other != settings.mode
    else { throw .notAsked }
    func because(_ reason: NotRepeated.Reason) -> NotRepeated { .because(reason, other: other) }
    if other.kind == settings.mode.kind { throw because(.sameStrategy) }
    guard let run = last.history.last else { throw because(.cutShort) }
    guard run.directory == RunMemory.canonical(settings.output.directory) else { throw because(.otherFolder) }
    guard !sources.contains(where: \.isReadOnce) else { throw because(.readOnce) }
    let digest = await ListReader.digest(of: sources, settings.form, fetching: fetching)
    guard digest == run.listDigest else { throw because(.otherList) }
    let times = last.store.times(of: run.listDigest)
    mode = settings.mode
    self.other = times[other] == nil ? other.kind : other
    otherRun = times[self.other]
    ownRun = times[mode]
    if otherRun?.waited != nil { throw because(.waited) }
    list = last.names
  }
}

struct RepeatVerdict: Equatable {
  struct Difference: Equatable {
    var address: String
    /// Where the file exists, or should exist.
    var path: String
  }

  var compared = 0
  var differences: [Difference] = []
  /// Files that the other run did not bring, or that were removed.
  var missing: [Difference] = []
  var isSame: Bool { differences.isEmpty && compared > 0 }
  var isAsHere: Bool { differences.isEmpty && missing.isEmpty }
}

/// What a run fetches into a folder that goes: only to be compared with the files of the earlier runs, or to be written
/// to standard output.
struct RepeatedFiles {
  let scratch: ScratchFolder
  /// Caught before the scratch folder is made, since no signal may leave that behind.
  let signals: Signals
  let fetched = FetchedFiles()
  var output: OutputStream?
  /// For a run that is compared, so that it does the work of a first one. Below the user's cache, because SQLite opens
  /// its files by path.
  var index: ScratchFolder?

  var files: FilePath { scratch.path.appending("files") }

  /// - Parameter user: the user's own, nil for a run without the cache.
  func cacheFolder(_ user: FilePath?) -> FilePath? { output == nil ? index?.path : user }

  func remove() {
    scratch.remove()
    index?.remove()
  }

  /// On the cooperative pool, as this time is not measured. The files here, and the user's index, are only read.
  @concurrent
  func compare(with settings: Settings, cacheFolder: FilePath?) async throws(DownloadError) -> RepeatVerdict {
    let cache = DownloadCache(
      configuration: Wiring.configuration(settings, cacheFolder: cacheFolder),
      executor: BlockingExecutor(label: "standing-files"))
    let result: Result<RepeatVerdict, DownloadError>
    do {
      result = .success(try await compare(with: settings.output.directory, cache))
    } catch { result = .failure(error) }
    _ = await cache.close()  // nothing was written: there is nothing to be warned of
    return try result.get()
  }

  /// A file that the index does not know (`--no-cache`, `dlm clear-cache`) is searched for under the names of all files
  /// that wanted its name, because the order of answers decided which file got which.
  private func compare(with directory: String, _ cache: DownloadCache) async throws(DownloadError) -> RepeatVerdict {
    var verdict = RepeatVerdict()
    var digests = FileDigests(activity: "comparing", scratch)
    var seen: Set<ByteText> = []
    var taken: Set<ByteText> = []
    let files = fetched.all.filter { seen.insert(ByteText($0.path)).inserted }
    let named = Dictionary(grouping: files) { ByteText($0.wanted) }.mapValues { $0.map(\.outcome.name) }
    for file in files {
      let known = try await cache.standingPath(of: file.request)
      let others = named[ByteText(file.wanted)] ?? []
      let names = [file.outcome.name] + others.filter { !FileNaming.areSame($0, file.outcome.name) }
      let folder = file.request.folder.map { Self.path(of: $0, in: directory) } ?? directory
      let places = known.map { [$0] } ?? names.map { Self.path(of: $0, in: folder) }
      var (equal, isHere): (String?, Bool) = (nil, false)
      for (index, place) in places.enumerated() where equal == nil && !taken.contains(ByteText(place)) {
        guard access(place, F_OK) == 0 || errno != ENOENT else { continue }
        if index == 0 { isHere = true }
        if try digests.digest(of: place) == digests.digest(of: file.path) { equal = place }
      }
      if equal != nil || isHere { verdict.compared += 1 }
      if let equal {
        taken.insert(ByteText(equal))
        continue
      }
      let difference = RepeatVerdict.Difference(
        address: file.request.address.key, path: places.first ?? file.outcome.name)
      if isHere { verdict.differences.append(difference) } else { verdict.missing.append(difference) }
    }
    return verdict
  }

  private static func path(of name: String, in directory: String) -> String {
    directory == "." || directory.isEmpty ? name : "\(directory)/\(name)"
  }
}

/// SHA-256 digests of files, each read once.
struct FileDigests {
  private let activity: String
  private let scratch: ScratchFolder?
  private var known: [ByteText: String] = [:]

  /// - Parameter scratch: where some of the files may be.
  init(activity: String, _ scratch: ScratchFolder? = nil) {
    self.activity = activity
    self.scratch = scratch
  }

  /// - Throws: `.disk` with the path that cannot be read; `.cancelled`.
  mutating func digest(of path: String) throws(DownloadError) -> String {
    let key = ByteText(path)
    if let digest = known[key] { return digest }
    do {
      let digest = try ContentDigest.ofFile(scratch?.held(path) ?? path).hex
      known[key] = digest
      return digest
    } catch { throw DownloadError(ofFile: error, path: path, activity: activity) }
  }
}

/// Where the file of each request went: that may depend on answers of servers.
final class FetchedFiles: Sendable {
  struct File {
    let request: DownloadRequest
    let outcome: DownloadOutcome

    var path: String { outcome.path }
    /// The path that it should have had; another file of the list may have that.
    var wanted: String { outcome.renamedFrom ?? outcome.path }
  }

  private let files = Lock<[File]>([])

  func ended(_ request: DownloadRequest, _ result: DownloadResult) {
    guard case .success(let outcome) = result else { return }
    var request = request
    request.pieces = nil
    files.withLock { [request] in $0.append(File(request: request, outcome: outcome)) }
  }

  /// In the list's order.
  var all: [File] { files.withLock { $0 }.sorted { $0.request.id < $1.request.id } }
}

/// The list that a command without sources takes: the one of the last `get` in this folder. Never standard input, from
/// which nothing comes under cron or in a script.
struct LastList {
  let history: RunHistory
  let store: RunHistoryStore

  init(_ store: RunHistoryStore) throws {
    guard let history = store.load(), !history.command.sources.isEmpty else {
      StandardError.say(store.warning)
      throw ValidationError(
        "Nothing to get: name a list or a URL (dlm get urls.txt), or - to read a list from a pipe.")
    }
    if let path = store.spoolPath, history.command.sources.contains(path.string),
      OwnFiles.bytes(of: path, upTo: 1).isEmpty
    {
      throw ValidationError(
        "The last list of this folder came through a pipe and no longer exists: pipe it in again (dlm get -).")
    }
    self.history = history
    self.store = store
  }

  /// What is remembered counts as typed before what is typed now.
  /// - Throws: `ValidationError` that says what has to be given again.
  func command(_ now: GetCommand) throws -> GetCommand {
    var command: GetCommand
    do { command = try GetCommand.parse(history.command.options + RememberedOptions(now).typed) } catch {
      throw ValidationError(
        "The options of the last run do not go with these: \(GetCommand.message(for: error)) Name the list to leave "
          + "them out.")
    }
    command.sources = history.command.sources
    try requireWithheld(command.shared)
    return command
  }

  func requireWithheld(_ given: RunOptions) throws {
    let names = try HeaderArgument.lines(of: given.header).map { HeaderArgument(argument: $0).name.lowercased() }
    let missing: [String] = history.command.withheld.compactMap { withheld in
      switch withheld {
      case .header(let name): names.contains(name.lowercased()) ? nil : "-H '\(name): …'"
      case .proxy: given.proxy == nil ? "--proxy with its login" : nil
      case .addressLogins where given.netrc || given.netrcFile != nil: nil
      case .addressLogins: "the logins of the URLs (name them again, or use --netrc-file)"
      }
    }
    guard missing.isEmpty else {
      throw ValidationError(
        "The last run had secrets, which dlm does not keep: give again \(missing.joined(separator: ", ")).")
    }
  }

  var names: String {
    let piped = store.spoolPath?.string
    return history.command.sources.map {
      $0 == piped ? "the list that came through a pipe" : CommandLineText.quoted($0, from: store.folder)
    }.joined(separator: " ")
  }
}

/// Keeps a list from a pipe, so that `dlm get` can repeat it: without credentials, and for this user only. It gets its
/// name only when whole, so a pipe that breaks off replaces nothing.
final class ListSpool {
  private let path: FilePath
  private var pending: [UInt8] = []
  private var draft: DraftFile?
  private var state = State.open
  private(set) var hadLogins = false

  private enum State { case open, broken, kept }

  init(_ path: FilePath) { self.path = path }

  var isKept: Bool { state == .kept }

  /// Half of a list must not be taken for the whole.
  func discard() {
    guard state == .open else { return }
    state = .broken
    pending = []
    draft = nil  // which removes it
  }

  func add(_ address: Address, _ options: LineOptions?) {
    if address.hasCredentials || options?.headerLines.isEmpty == false { hadLogins = true }
    pending += address.key.utf8
    if let options { pending += options.text.utf8 }
    pending.append(0x0A)
    if pending.count > FileDescriptor.blockSize { write() }
  }

  func close() {
    guard state == .open else { return }
    write(isLast: true)
    if state == .open { discard() }
  }

  /// Fails silently, since only the repeating is lost; the list that was remembered before stays.
  private func write(isLast: Bool = false) {
    guard state == .open else { return pending.removeAll() }
    do {
      if !pending.isEmpty, draft == nil {
        _ = try Folder(own: path.removingLastComponent())
        draft = try DraftFile(for: path)
      }
      try draft?.write(pending)
      pending.removeAll(keepingCapacity: true)
      guard isLast, draft != nil else { return }
      try draft?.commit()
      state = .kept
    } catch { state = .broken }
    draft = nil
  }
}
