import DownloadCaching
import DownloadModel
import Glibc
import Synchronization
import SystemPackage

/// The plan to fetch the last list of a folder once more in another mode, for a comparison.
struct RepeatPlan: Sendable {
  let mode: DownloadMode
  /// The mode of the last run.
  let other: DownloadMode
  /// The other mode's run; nil if it never fetched the whole list.
  let otherRun: PastRun?
  /// This mode's earlier run, if there is one.
  let ownRun: PastRun?
  /// The list's name in messages.
  let list: String

  /// How many bytes will come, as far as an earlier run knows.
  var bytes: Int64 { otherRun?.transferredBytes ?? ownRun?.transferredBytes ?? 0 }
}

/// Why a list that is taken again is not repeated to compare.
enum NotRepeated: Error {
  /// The mode is the last run's; or the user asked to fetch anew or to use only the disk, which concerns the files
  /// here.
  case notAsked
  case because(Reason, other: DownloadMode)

  enum Reason: CaseIterable { case cutShort, otherFolder, otherList, readOnce }
}

extension RepeatPlan {
  /// Reads the list once to its end.
  init(
    _ last: LastList, _ sources: [Source], _ settings: Settings, noCompare: Bool, fetching: ListAtAddress.Fetching
  ) async throws(NotRepeated) {
    guard !noCompare, !settings.output.cache.refresh, !settings.output.cache.offline,
      let other = last.history.command.mode, other != settings.mode
    else { throw .notAsked }
    guard let run = last.history.last else { throw .because(.cutShort, other: other) }
    guard run.directory == RunMemory.canonical(settings.output.directory) else {
      throw .because(.otherFolder, other: other)
    }
    guard sources.allSatisfy(Self.canBeReadTwice) else { throw .because(.readOnce, other: other) }
    guard await ListReader.digest(of: sources, fetching: fetching) == run.listDigest else {
      throw .because(.otherList, other: other)
    }
    let times = last.store.times(of: run.listDigest)
    (mode, self.other) = (settings.mode, other)
    (otherRun, ownRun) = (times[other], times[settings.mode])
    list = last.names
  }

  private static func canBeReadTwice(_ source: Source) -> Bool {
    switch source {
    case .standardInput: return false
    case .address, .listAt: return true
    case .list(let path):
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
  }
}

/// How the files of a repeated run compare with the files that are here.
struct RepeatVerdict: Sendable, Equatable {
  struct Difference: Sendable, Equatable {
    /// The request's address, without credentials.
    var address: String
    /// The path of the file here, also if it is missing.
    var path: String
  }

  /// Files that both runs brought, each once.
  var compared = 0
  /// Of these, those with other bytes.
  var differences: [Difference] = []
  /// Files that are not here: the other run did not bring them, or they were removed.
  var missing: [Difference] = []
  /// Whether the two runs can be compared.
  var isSame: Bool { differences.isEmpty && compared > 0 }
  /// Whether all that came is here too.
  var isAsHere: Bool { differences.isEmpty && missing.isEmpty }
}

/// What a repeated run fetched, and how to compare it with the files of the earlier runs.
struct RepeatedFiles: Sendable {
  let scratch: ScratchFolder
  let fetched = FetchedFiles()

  /// Bytes compared at a time.
  private static let blockSize = 256 * 1024

  /// Where the run's files are written.
  var files: FilePath { scratch.path.appending("files") }
  /// A separate index, so that the run does the work of a first one.
  var index: FilePath { scratch.path.appending("index") }

  /// Compares byte for byte, on the cooperative pool, because the time of this is not measured. The files here are only
  /// read.
  /// - Parameter standing: the files of the earlier runs, as far as they are known. A file that is not known
  ///   (`--no-cache`, `dlm clear-cache`) is searched for under the name that the fetched file has now, and under the
  ///   names of other files that wanted the same one, because the order of answers may have decided which file got
  ///   which.
  @concurrent
  func compare(with directory: String, _ standing: StandingFiles) async throws(DownloadError) -> RepeatVerdict {
    var verdict = RepeatVerdict()
    var seen: Set<String> = []
    let files = fetched.all.filter { seen.insert($0.path).inserted }
    let named = Dictionary(grouping: files, by: \.wanted).mapValues { $0.map(\.name) }
    var taken: Set<String> = []
    for file in files {
      if Task.isCancelled { throw .cancelled }
      let known = try await standing.path(of: file.request)
      let names = [file.name] + (named[file.wanted] ?? []).filter { $0 != file.name }
      let places = known.map { [$0] } ?? names.map { Self.path(of: $0, in: directory) }
      let standing = try Self.standing(file, among: places, &taken)
      if standing != .missing { verdict.compared += 1 }
      guard standing != .equal else { continue }
      let difference = RepeatVerdict.Difference(address: file.request.address.key, path: places.first ?? file.name)
      if standing == .missing {
        verdict.missing.append(difference)
      } else {
        verdict.differences.append(difference)
      }
    }
    return verdict
  }

  private static func path(of name: String, in directory: String) -> String {
    directory == "." || directory.isEmpty ? name : "\(directory)/\(name)"
  }

  private enum Standing { case equal, other, missing }

  /// - Parameters:
  ///   - places: where an equal file may be, the most likely first.
  ///   - taken: files here that already equal another fetched file.
  private static func standing(
    _ file: FetchedFiles.File, among places: [String], _ taken: inout Set<String>
  ) throws(DownloadError) -> Standing {
    var isMissing = true
    for (index, place) in places.enumerated() where !taken.contains(place) {
      guard let isEqual = try areEqual(file.path, place) else { continue }
      if index == 0 { isMissing = false }
      guard isEqual else { continue }
      taken.insert(place)
      return .equal
    }
    return isMissing ? .missing : .other
  }

  /// - Returns: nil if there is no file here.
  private static func areEqual(_ fetched: String, _ here: String) throws(DownloadError) -> Bool? {
    guard let standing = try open(here, missingIsNil: true) else { return nil }
    defer { try? standing.close() }  // it was only read
    guard let came = try open(fetched, missingIsNil: false) else { return nil }
    defer { try? came.close() }  // it was only read
    while true {
      if Task.isCancelled { throw .cancelled }
      let (block, other) = (try wholeBlock(of: came, fetched), try wholeBlock(of: standing, here))
      if block != other { return false }
      if block.isEmpty { return true }
    }
  }

  private static func open(_ path: String, missingIsNil: Bool) throws(DownloadError) -> FileDescriptor? {
    do {
      // Does not block, in case the path is a pipe.
      return try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
    } catch {
      if missingIsNil, Errno(error) == .noSuchFileOrDirectory { return nil }
      throw failure(Errno(error), path)
    }
  }

  /// A full block except at the end, because two files are read in step.
  private static func wholeBlock(of file: FileDescriptor, _ path: String) throws(DownloadError) -> [UInt8] {
    do throws(Errno) {
      var whole = try file.block(blockSize)
      while !whole.isEmpty, whole.count < blockSize {
        let more = try file.block(blockSize - whole.count)
        if more.isEmpty { break }
        whole += more
      }
      return whole
    } catch {
      throw failure(error, path)
    }
  }

  private static func failure(_ error: Errno, _ path: String) -> DownloadError {
    DownloadError(.disk, cause: .errno(error.rawValue), path: path, activity: "comparing")
  }
}

/// Where a run put the file of each request, noted when each ends: the store chooses names, and they may depend on
/// answers of servers.
final class FetchedFiles: Sendable {
  struct File: Sendable {
    let request: DownloadRequest
    let path: String
    /// The last component of `path`.
    let name: String
    /// The path that it should have had; another file of the list may have it.
    let wanted: String
  }

  private let files = Lock<[File]>([])

  func add(_ request: DownloadRequest, _ outcome: DownloadOutcome) {
    let file = File(
      request: request, path: outcome.path, name: outcome.name, wanted: outcome.renamedFrom ?? outcome.path)
    files.withLock { $0.append(file) }
  }

  /// In the list's order.
  var all: [File] { files.withLock { $0 }.sorted { $0.request.id < $1.request.id } }
}

/// The files that earlier runs left, by the user's own index, which is only read.
struct StandingFiles: Sendable {
  private let cache: DownloadCache

  /// - Parameter cacheFolder: nil for runs without the cache, which know nothing.
  init(_ settings: Settings, cacheFolder: FilePath?) {
    cache = DownloadCache(
      configuration: Wiring.configuration(settings, cacheFolder: cacheFolder),
      executor: BlockingExecutor(label: "standing-files"))
  }

  /// - Returns: nil for what is not known.
  func path(of request: DownloadRequest) async throws(DownloadError) -> String? {
    try await cache.standingPath(of: request)
  }

  func close() async { _ = await cache.close() }  // nothing was written: there is nothing to be warned of
}
