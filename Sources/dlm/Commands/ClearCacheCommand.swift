import ArgumentParser
import DownloadCaching
import DownloadModel
import SystemPackage

struct ClearCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear-cache", abstract: "Forget what was fetched; your files stay, unless --files is given.",
    discussion: """
      EXAMPLES
        dlm clear-cache                      forget everything; no file of yours is touched
        dlm clear-cache https://a/b          forget one address
        dlm clear-cache urls.txt --here      forget what this list brought into this folder
        dlm clear-cache --partial            remove unfinished files (.part) that no running dlm has in use
        dlm clear-cache --files https://a/b  remove its file too, after a question

      --files removes only what is as dlm wrote it: a file that was changed, moved or replaced since then stays.
      """)

  @Argument(
    help: .value("source", "Only what belongs to these addresses, or to those of these lists; everything without any."),
    completion: .file())
  var sources: [String] = []

  @Flag(help: "Only what belongs to files of this folder.") var here = false

  @Flag(help: "Remove unfinished files, in this folder and those of earlier runs, and forget nothing.")
  var partial = false

  @Flag(help: "Also remove the files that dlm wrote and nobody has changed since, finished and unfinished; asks first.")
  var files = false

  @Flag(help: "Answer the question of --files with yes.") var yes = false
  @Flag(help: "Say what was freed as one JSON object.") var json = false

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
    if json {
      try StandardOutput.write(CacheJSON.freed(freed))
    } else {
      let isRemoved = files || partial
      try StandardOutput.say([isRemoved ? CacheMessages.removed(freed, forgets: files) : CacheMessages.cleared(freed)])
    }
    if !freed.failures.isEmpty { throw ExitCode(ExitStatus.failed.rawValue) }
  }

  /// - Throws: the exit status if a list cannot be read, having said why: then nothing is removed.
  private func keys() async throws -> [String]? {
    if sources.isEmpty { return nil }
    let failures = FailureLog()
    let requests = await ListReader(sources.map { Source($0) }, onReject: { failures.add($0) }).all()
    let (rejections, status) = (failures.rejections, ExitStatus(failures: [], rejections: failures.rejections))
    StandardError.say(rejections.map { RejectionMessages($0).said })
    if status != .success { throw ExitCode(status.rawValue) }
    return requests.map(\.address.resource)
  }

  private func removeFiles(_ cache: CacheAdministration, _ keys: [String]?, _ folders: [FilePath]) async throws -> Freed
  {
    let written = try await cache.written(of: keys)
    let unfinished = try await cache.unfinished(in: folders, of: keys)
    if !yes, written.files + unfinished.count > 0 { try confirm(written, unfinished) }
    // The index's rows name the folders of unfinished files, so those go first.
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
    case false?:
      StandardError.say(["dlm: nothing was removed or forgotten"])
      throw ExitCode(ExitStatus.failed.rawValue)
    case nil:
      StandardError.say([
        "dlm: \(files) would be removed, and there is no terminal to ask on; give --yes to remove them (dlm cache list "
          + "shows them)"
      ])
      throw ExitCode.validationFailure
    }
  }
}
