import Crypto
import DownloadModel
import FoundationEssentials
import Glibc
import StrategyComparing
import SystemPackage

/// One `dlm compare`: downloads one list in every mode, several times over, each time into an empty folder
/// and without the cache.
struct ComparisonSession: Sendable {
  let settings: Settings
  let screen: ProgressScreen
  let plan: ComparisonPlan
  let failing: ComparisonRunner.Failing
  let requests: [DownloadRequest]
  /// Which disk is measured is the user's to say, by `$TMPDIR`.
  let temporaryFolder: String
  /// Told of what has been measured, after each run.
  let onMeasured: @Sendable ([RunMeasurement]) -> Void

  /// - Returns: the report, or why there is none; and the signal that ended it.
  func run() async -> (Result<ComparisonReport, ComparisonError>, signal: Int32?) {
    await screen.runInterruptibly { await measure() }
  }

  private func measure() async -> Result<ComparisonReport, ComparisonError> {
    let runner = ComparisonRunner(plan: plan, failing: failing) { news in
      switch news {
      case .ran(let step, let observation):
        StandardError.say([ComparisonMessages.runLine(step, observation, of: plan)])
      case .leftOut(let failures): StandardError.say(ComparisonMessages.leftOut(failures))
      case .measured(let measurements): onMeasured(measurements)
      }
    }
    do throws(ComparisonError) {
      let scratch = try ScratchFolder(below: temporaryFolder)
      defer { scratch.remove() }
      return .success(
        try await runner.compare { step, leftOut throws(DownloadError) in
          try await observe(step, leftOut, below: scratch.path)
        })
    } catch {
      return .failure(error)
    }
  }

  /// One run, whose files are read and removed again.
  private func observe(
    _ step: ComparisonPlan.Step, _ leftOut: Set<String>, below scratch: FilePath
  ) async throws(DownloadError) -> RunObservation {
    let folder = scratch.appending("\(step.mode.mode.rawValue)-\(step.round)")
    let requests = leftOut.isEmpty ? requests : requests.filter { !leftOut.contains($0.address.key) }
    let feed = ProgressFeed()
    feed.listed(requests.count, complete: true)
    let (failures, files, recorder) = (FailureLog(), FetchedFiles(), RunRecorder())
    let wall = try await fetch(requests, into: folder, step.mode, feed, files, failures, recorder)
    if Task.isCancelled { throw .cancelled }
    let fetched = files.all
    let manifest = try await RunManifest.read(fetched)
    try ScratchFolder.remove(folder)
    return RunObservation(
      wall: wall, bytes: feed.counter.value, files: Set(fetched.map(\.path)).count,
      failures: failures.failures.map { RunFailure(address: $0.address ?? "", error: $0) },
      contentDigest: RunManifest.digest(of: manifest), manifest: manifest, details: recorder.details)
  }

  /// - Returns: how long it took, from the first request to the last file.
  private func fetch(
    _ requests: [DownloadRequest], into folder: FilePath, _ mode: ComparedMode, _ feed: ProgressFeed,
    _ files: FetchedFiles, _ failures: FailureLog, _ recorder: RunRecorder
  ) async throws(DownloadError) -> Duration {
    var settings = settings
    settings.output.directory = folder.string
    settings.connection.report { recorder.add($0) }
    if let jobs = mode.jobs { (settings.jobs, settings.adaptsJobs) = (jobs, false) }
    let wiring = try await Wiring(
      settings, mode: mode.mode, files: requests.count, cacheFolder: nil, feed: feed)
    let wall = await screen.show(feed, .totals) {
      recorder.begin()
      let start = ContinuousClock.now
      // Cancelled and awaited at the end of this scope.
      async let _: Void = recorder.watchHosts(of: feed)
      let width = await wiring.run(RequestList(requests, count: requests.count)) { request, result in
        recorder.end(of: request, result)
        switch result {
        case .success(let outcome): files.add(request, outcome)
        case .failure(let error): failures.add(error)
        }
      }
      let wall = start.duration(to: .now)
      recorder.end(mostAtOnce: width.peak)
      return wall
    }
    _ = await wiring.close()  // without a cache there is nothing to be warned of
    return wall
  }
}

/// What a run brought, as requests with the SHA-256 digests of their files.
enum RunManifest {
  /// Reads every byte, on the cooperative pool: it is no part of what is measured.
  /// - Throws: `.disk` with the path that cannot be read; `.cancelled`.
  @concurrent
  static func read(_ files: [FetchedFiles.File]) async throws(DownloadError) -> ContentManifest {
    // Equal addresses of a list are one file.
    var digests: [String: String] = [:]
    var entries: [ContentManifest.File] = []
    entries.reserveCapacity(files.count)
    for file in files {
      let known = digests[file.path]
      let digest: String
      // Not by `??`, whose autoclosure would throw any error.
      if let known { digest = known } else { digest = try Self.digest(of: file.path) }
      digests[file.path] = digest
      entries.append(
        ContentManifest.File(id: file.request.id, address: file.request.address.key, digest: digest))
    }
    return ContentManifest(files: entries)
  }

  static func digest(of manifest: ContentManifest) -> String {
    var hash = SHA256()
    for file in manifest.files { hash.update(data: Array("\(file.id)\0\(file.digest)\n".utf8)) }
    return hash.finalize().hex
  }

  private static func digest(of path: String) throws(DownloadError) -> String {
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      return try file.closeAfter {
        var hash = SHA256()
        while true {
          if Task.isCancelled { throw DownloadError.cancelled }
          let block = try file.block(256 * 1024)
          if block.isEmpty { return hash.finalize().hex }
          hash.update(data: block)
        }
      }
    } catch {
      if let error = error as? DownloadError { throw error }
      throw DownloadError(
        .disk, cause: .errno(Errno(error).rawValue), path: path,
        activity: "reading what was downloaded")
    }
  }
}

/// A folder of the run's own for what is downloaded only to be measured; removed with all that is in it.
struct ScratchFolder: Sendable {
  let path: FilePath

  init(below folder: String) throws(ComparisonError) {
    do throws(DownloadError) { try self.init("\(folder)/dlm-compare-") } catch {
      throw .broken(ComparisonPlan.Step(mode: .sequential, round: 1), error)
    }
  }

  /// Hidden in the output folder, and so on the same disk as the files that it is compared with.
  /// - Throws: `.folder`.
  init(inside directory: String) throws(DownloadError) {
    try self.init((directory.isEmpty ? "." : directory) + "/.dlm-compare-")
  }

  /// Under a random name, this user's alone (mkdtemp(3), 0700).
  private init(_ beginning: String) throws(DownloadError) {
    var template = Array("\(beginning)XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw DownloadError(
        .folder, cause: .errno(errno), path: FilePath(beginning).removingLastComponent().string,
        activity: "making a scratch folder")
    }
    path = FilePath(String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
  }

  /// Bytes that this user may still write to the disk of a folder; nil where that cannot be known.
  static func room(in directory: String) -> Int64? {
    var status = statvfs()
    guard statvfs(directory.isEmpty ? "." : directory, &status) == 0 else { return nil }
    return Int64(
      clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  /// At the end of the run; what cannot be removed lies in the system's temporary folder, and is named.
  func remove() {
    do throws(DownloadError) {
      try Self.remove(path)
    } catch {
      StandardError.say([TroubleMessages.notRemoved(path, error)])
    }
  }

  static func remove(_ folder: FilePath) throws(DownloadError) {
    guard access(folder.string, F_OK) == 0 else { return }
    do {
      try FileManager.default.removeItem(atPath: folder.string)
    } catch {
      throw DownloadError(
        .disk, cause: .detail("\(error)"), path: folder.string, activity: "removing a scratch folder")
    }
  }
}
