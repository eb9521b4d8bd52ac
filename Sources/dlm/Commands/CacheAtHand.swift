import DownloadCaching
import DownloadModel
import RunDoors
import SystemPackage

enum CacheAtHand {
  /// - Throws: the exit status if the cache is missing, after the message.
  static func folder() throws(ExitStatus) -> FilePath {
    let folders = XDGFolders()
    if let folder = folders.cache { return folder }
    StandardError.say(folders.warnings)
    throw .failed
  }

  /// - Parameter next: the page after an entry; the first one for `nil`; empty at the end.
  static func say(
    pages next: (CacheEntry?) async throws -> [CacheEntry], json: Bool, each: (CacheEntry) -> Void = { _ in }
  ) async throws {
    var last: CacheEntry?
    repeat {
      let page = try await next(last)
      try json
        ? StandardOutput.say(json: page.map { CacheJSON.entry($0) })
        : StandardOutput.say(rows: page.map(CacheMessages.entry))
      page.forEach(each)
      last = page.last
    } while last != nil
  }

  /// Folders that may contain unfinished files, beside those in the index.
  static func folders() -> [FilePath] {
    let remembered = XDGFolders().state.map { RunHistoryStore.outputFolders(below: $0) } ?? []
    let recorded = RunStatus.records?.all().map(\.record.directory) ?? []
    return (["."] + recorded + remembered).map { FilePath($0) }
  }

  /// - Throws: the exit status of a failure, after its message; otherwise the error of `body`.
  static func use<Value: Sendable>(
    here: FilePath? = nil, _ body: @Sendable (CacheAdministration) async throws -> Value
  ) async throws -> Value {
    let cache = CacheAdministration(try folder(), here: here)
    let result: Result<Value, any Error>
    do { result = .success(try await body(cache)) } catch { result = .failure(error) }
    StandardError.say(await cache.close().map { CacheMessages.warning($0) })
    if case .failure(let error as DownloadError) = result { throw Refusal(FailureMessages(error).said, .failed) }
    return try result.get()
  }
}
