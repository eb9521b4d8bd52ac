import ArgumentParser
import DownloadCaching
import DownloadModel
import SystemPackage

struct ClearCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear-cache", abstract: "Forget downloaded files; they stay, unless --files is given.",
    discussion: """
      EXAMPLES
        dlm clear-cache                       forget everything; your files stay
        dlm clear-cache https://a/b           forget one URL
        dlm clear-cache urls.txt --here       forget this list's files in this folder
        dlm clear-cache --partial             delete incomplete files (.part)
        dlm clear-cache --files https://a/b   delete its file too, after a question

      --files deletes only files that are as dlm wrote them: a changed, moved or replaced file stays.
      """)

  @Argument(
    help: .value("source", "Only these URLs, or the URLs of these lists (default: all)."),
    completion: .file())
  var sources: [String] = []

  @Flag(help: "Only files of this folder.") var here = false

  @Flag(help: "Delete the incomplete files of this folder and of earlier runs that no run uses; forget nothing.")
  var partial = false

  @Flag(help: "Also delete the files that dlm wrote, complete or not, unless they were changed since; asks first.")
  var files = false

  @Flag(help: "Delete them without asking.") var yes = false
  @Flag(help: "As one JSON object.") var json = false

  func run() async throws {
    let folders = CacheAtHand.folders()
    let keys = try await keys()
    let freed = try await CacheAtHand.use(here: here ? "." : nil) { [self] cache in
      if files { return try await removeFiles(cache, keys, folders) }
      if partial { return try await cache.removeUnfinished(in: folders, of: keys) }
      guard let keys else { return try await cache.clear() }
      return try await cache.clear(keys)
    }
    for failure in freed.failures { StandardError.say(FailureMessages(failure).said) }
    let text = files || partial ? CacheMessages.removed(freed, forgets: files) : CacheMessages.cleared(freed)
    try json ? StandardOutput.say(json: [CacheJSON.freed(freed)]) : StandardOutput.say([text])
    if !freed.failures.isEmpty { throw ExitStatus.failed }
  }

  /// - Throws: the exit status if a list cannot be read, after the message: then nothing is removed.
  private func keys() async throws -> [String]? {
    if sources.isEmpty { return nil }
    let failures = FailureLog()
    let requests = await ListReader(sources.map { Source($0) }, onReject: { failures.add($0) }).all()
    let status = failures.sayRejections()
    if status != .success { throw status }
    return requests.map(\.address.resource)
  }

  private func removeFiles(_ cache: CacheAdministration, _ keys: [String]?, _ folders: [FilePath]) async throws -> Freed
  {
    let written = try await cache.written(of: keys)
    let unfinished = try await cache.unfinished(in: folders, of: keys)
    if !yes, written.files + unfinished.count > 0 { try confirm(written, unfinished) }
    // The index's rows name the folders of unfinished files, so those are removed first.
    var freed = try await cache.removeUnfinished(in: folders, of: keys)
    freed.add(try await cache.removeWritten(of: keys))
    let isAll = keys == nil && freed.failures.isEmpty
    freed.add(isAll ? try await cache.clear() : try await cache.clear([]))
    return freed
  }

  private func confirm(_ written: Freed, _ unfinished: [UnfinishedFile]) throws {
    let files = CacheMessages.removable(written, unfinished)
    switch TerminalPrompt.confirm("Remove \(files)? This cannot be undone. [y/N] ") {
    case true?: return
    case false?: throw Refusal("dlm: nothing was removed or forgotten", .failed)
    case nil:
      throw Refusal(
        "dlm: \(files) would be removed, and there is no terminal to ask on; give --yes to remove them (dlm cache list "
          + "shows them)", .usage)
    }
  }
}
