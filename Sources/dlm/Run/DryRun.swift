import DownloadCaching
import DownloadModel
import FileReceiving
import Glibc
import SystemPackage
import TerminalProgress

/// The plan of a run (`--dry-run`), with the sizes that servers give.
struct DryRun {
  /// The remaining work; a server may also be asked about existing files.
  enum Step: String, CaseIterable { case fetch, resume, here, skip, fail }

  struct File {
    let address: String
    var path: String
    /// From the list, the run that downloaded it last, or its server; `nil` if unknown.
    var size: Int64?
    var here: Int64 = 0
    var step = Step.fetch

    var isToCome: Bool { step == .fetch || step == .resume }
  }

  private let output: OutputSettings
  let cache: CacheAdministration?
  /// Without links; `nil` if it does not exist yet.
  private var folder: String?
  private let unfinished: [String: [UnfinishedFile]]
  /// Files that will get another name, because their own is taken.
  private var renamed: [DownloadRequest.Key: String] = [:]
  private var taken: Set<ByteText> = []
  private(set) var counts: [Step: Int] = [:]
  /// Sizes of the files to download, if known.
  private var toCome = ExpectedSizes()
  var bytes: Int64 { toCome.bytes }
  /// Files to download whose size is unknown.
  private(set) var unsized = 0
  /// Free space in bytes; `nil` if unknown.
  let free: Int64?
  /// Bytes a second of the last run in this folder; `nil` if unknown.
  private let rate: Double?
  var seconds: Double? { rate.map { Double(bytes) / $0 } }
  /// Bytes beyond the free space.
  var excess: Int64 { max(0, bytes - (free ?? .max)) }

  /// Lines for which servers are asked together.
  private static let most = 8192

  private static func say(_ failures: FailureLog) {
    _ = failures.sayRejections()
    for group in FailureMessages.groups(of: failures.failures) {
      let errors = group.errors
      StandardError.say(group.messages.lines(errors, of: errors.count, shortens: StandardError.isTerminal))
    }
  }

  /// `--dry-run`: no file is downloaded. Lists at URLs are, and servers are asked for sizes, except with `--offline`.
  static func say(
    _ sources: [Source], _ settings: Settings, _ fetching: ListAtAddress.Fetching
  ) async throws -> ExitStatus {
    let failures = FailureLog()
    let cacheFolder = settings.own.noCache ? nil : XDGFolders(settings.environment).cache
    let marks = RequestMarks(form: settings.form, outputName: settings.output.name)
    let source = ListReader(
      sources, marks, fetching: fetching, onFormat: { settings.say(["dlm: \($0)"]) },
      onReject: { failures.add($0) })
    var plan = await DryRun(
      settings.output, cacheFolder: cacheFolder, rate: RunHistoryStore(settings.environment).past.lastRate)
    let asJSON = settings.progress == .json
    let isOffline = settings.output.cache.offline
    while let first = await source.next() {
      var requests = [first] + sequence(state: source) { $0.takeAtOnce() }.prefix(63)
      while !isOffline, requests.count < most, let next = await source.next() { requests.append(next) }
      var files = await plan.plan(requests)
      if !isOffline { try await SizeQuestions.complete(&files, requests, settings, failures) }
      for (file, request) in zip(files, requests) { plan.count(file, isRepeat: request.isRepeat) }
      try asJSON
        ? StandardOutput.say(json: files.map { DryRunMessages.json($0) })
        : StandardOutput.say(rows: files.map(DryRunMessages.row))
    }
    if asJSON { try StandardOutput.say(json: [DryRunMessages.json(plan)]) }
    StandardError.say(await plan.cache?.close().map { CacheMessages.warning($0) } ?? [])
    say(failures)
    if !settings.shared.quiet { StandardError.say(DryRunMessages.lines(plan, in: settings.output.directory)) }
    if plan.excess > 0 { return .diskFailed }
    return ExitStatus(failures: failures.failures, rejections: failures.rejections)
  }

  init(_ output: OutputSettings, cacheFolder: FilePath?, rate: Double?) async {
    self.output = output
    self.rate = rate
    folder = RunMemory.canonical(output.directory)
    cache = cacheFolder.map { CacheAdministration($0) }
    // A failed look-up means unknown; closing the cache reports the cause.
    let parts = folder == nil ? [] : (try? await cache?.unfinished(in: [FilePath(output.directory)])) ?? []
    unfinished = Dictionary(grouping: parts, by: \.address)
    var existing = FilePath(output.directory)
    while access(existing.string, F_OK) != 0, existing.removeLastComponent() {}
    free = output.isStandardOutput ? nil : ScratchFolder.room(in: existing.string)
  }

  /// - Parameter requests: a batch, for which folder and index are read once.
  mutating func plan(_ requests: [DownloadRequest]) async -> [File] {
    // Another process may have created it by now.
    folder = RunMemory.canonical(output.directory)
    let entries = (try? await cache?.entries(of: requests.map(\.address.resource))) ?? []
    let known = Dictionary(grouping: entries, by: \.address)
    return requests.map { plan($0, known[$0.address.resource] ?? []) }
  }

  private mutating func plan(_ request: DownloadRequest, _ known: [CacheEntry]) -> File {
    let address = request.address
    let path = renamed[request.key] ?? output.path(of: request)
    let size = request.expectedSize ?? known.max { $0.row.fetchedAt < $1.row.fetchedAt }?.size
    var file = File(address: address.redacted, path: path, size: size)
    let policy = output.cache.receiving.conflictPolicy(of: request)
    if let own = known.first(where: { $0.condition == .intact && isOwn($0, request) }), request.allows(size: own.size) {
      file.path = output.path(of: request, named: own.path.name)
      if !output.cache.receiving.refresh {
        file.size = own.size
        file.here = own.size
        file.step = .here
      }
      // Only reading it would show whether it has the checksum.
    } else if policy == .skip || policy == .fail && request.checksum == nil, stands(path) {
      file.step = policy == .skip ? .skip : .fail
    } else if policy.numbers, renamed[request.key] == nil, stands(path) {
      let name = request.outputName ?? FileNaming.name(of: address, from: request.provenance)
      let names = sequence(first: request.nameNumber + 1) { $0 + 1 }.lazy.map { FileNaming.alternative(name, $0) }
      file.path = names.map { [output] in output.path(of: request, named: $0) }.first { !stands($0) } ?? path
      renamed[request.key] = file.path
      taken.insert(ByteText(file.path))
    }
    if file.step == .fetch, let part = unfinished[address.resource]?.first(where: { isHere($0.path, request) }) {
      file.size = part.total ?? file.size
      file.here = part.bytes
      file.step = .resume
    }
    return file
  }

  private mutating func count(_ file: File, isRepeat: Bool) {
    counts[file.step, default: 0] += 1
    guard file.isToCome, !isRepeat else { return }
    if let size = file.size { toCome.add(size - file.here) } else { unsized += 1 }
  }

  private func isOwn(_ entry: CacheEntry, _ request: DownloadRequest) -> Bool {
    isHere(entry.path, request)
      && (entry.chosenName == request.outputName
        || FileNaming.areSame(entry.path.name, FileNaming.name(of: request)))
  }

  private func isHere(_ path: FilePath, _ request: DownloadRequest) -> Bool {
    path.removingLastComponent().string == [folder, request.folder].compactMap(\.self).joined(separator: "/")
  }

  private func stands(_ path: String) -> Bool {
    !output.isStandardOutput && folder != nil && StandingFile.of(path: path) != nil
      || taken.contains(ByteText(path))
  }
}
