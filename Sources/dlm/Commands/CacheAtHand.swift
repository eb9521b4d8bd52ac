import ArgumentParser
import DownloadCaching
import DownloadModel
import FoundationEssentials
import SystemPackage

/// The user's cache, without a transport.
enum CacheAtHand {
  /// - Throws: the exit status where there is none, having said why.
  static func folder() throws(ExitCode) -> FilePath {
    let folders = XDGFolders(ProcessInfo.processInfo.environment)
    if let folder = folders.cache { return folder }
    StandardError.say(folders.warnings)
    throw ExitCode(ExitStatus.failed.rawValue)
  }

  /// Says entries a page at a time, a row or a JSON object each.
  /// - Parameters:
  ///   - next: the page behind an entry; the first for nil; an empty one at the end.
  ///   - each: told of each entry that was said.
  static func say(
    pages next: (CacheEntry?) async throws -> [CacheEntry], json: Bool, each: (CacheEntry) -> Void = { _ in }
  ) async throws {
    var last: CacheEntry?
    while true {
      let page = try await next(last)
      if json {
        try StandardOutput.write(page.map { CacheJSON.entry($0) }.joined())
      } else {
        try StandardOutput.say(rows: page.map(CacheMessages.entry))
      }
      page.forEach(each)
      last = page.last
      if page.isEmpty { return }
    }
  }

  /// Folders that may hold unfinished files, beside those that the index knows: this one, and those of running and of
  /// remembered runs.
  static func folders(_ running: [RunningDownloads]) -> [FilePath] {
    let state = XDGFolders(ProcessInfo.processInfo.environment).state
    let remembered = state.map { RunHistoryStore.outputFolders(below: $0) } ?? []
    return ["."] + running.map { FilePath($0.directory) } + remembered.map { FilePath($0) }
  }

  /// What other processes have under way.
  static func running() -> [RunningDownloads] {
    let state = XDGFolders(ProcessInfo.processInfo.environment).state
    return state.map { RunningDownloads.all(in: RunningSnapshots.folder(below: $0)) } ?? []
  }

  /// - Throws: the exit status of what failed, having said it; what `body` throws otherwise.
  static func use<Value: Sendable>(
    _ body: @Sendable (CacheAdministration) async throws -> Value
  ) async throws -> Value {
    let cache = CacheAdministration(try folder())
    let result: Result<Value, any Error>
    do { result = .success(try await body(cache)) } catch { result = .failure(error) }
    StandardError.say(await cache.close().map { CacheMessages.warning($0) })
    do {
      return try result.get()
    } catch let error as DownloadError {
      StandardError.say(FailureMessages(error).said)
      throw ExitCode(ExitStatus.failed.rawValue)
    }
  }
}
