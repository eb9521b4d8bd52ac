import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving
import SystemPackage

struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache", abstract: "Show what dlm remembers of downloaded files.",
    discussion: """
      The cache is an index: each file's URL, path, size and time, and the server's ETag or Last-Modified. The files \
      themselves are where you put them. Where the file system can share blocks, or --store says so, the cache also \
      has copies.
      """,
    subcommands: [Status.self, List.self, Show.self, Verify.self, Prune.self, Path.self],
    defaultSubcommand: Status.self)

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Show the cache's size, running downloads and incomplete files.",
      discussion: "Sizes are blocks on the disk, as in du.")

    @Flag(help: "As one JSON object.") var json = false

    func run() async throws {
      let running = CacheAtHand.running()
      let folders = CacheAtHand.folders(running)
      try await CacheAtHand.use { [json] cache in
        let unfinished = try await cache.unfinished(in: folders)
        let status = try await cache.status()
        if json { return try StandardOutput.say(json: [CacheJSON.status(status, running, unfinished)]) }
        try StandardOutput.say(
          [CacheMessages.status(status)] + running.flatMap { CacheMessages.running($0) }
            + CacheMessages.unfinished(unfinished))
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List every known file, one per line: condition, size in bytes, URL, path.")

    @Flag(help: "As JSON, one object per line.") var json = false

    func run() async throws {
      try await CacheAtHand.use { [json] cache in
        try await CacheAtHand.say(pages: { try await cache.list(after: $0) }, json: json)
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show everything known about a URL.",
      discussion: """
        Its files in all folders, with and without logins: path, size, condition, times of download and last use, the \
        server's ETag or Last-Modified, and how long the file is fresh; then its incomplete files. Exit status 1 if \
        nothing is known.
        """)

    @Argument(help: .value("url", "The URL; a login in it makes no difference.")) var address: CachedAddress
    @Flag(help: "As one JSON object.") var json = false

    func run() async throws {
      let folders = CacheAtHand.folders()
      try await CacheAtHand.use { [json, key = address.key] cache in
        let files = try await cache.entries(of: [key])
        let unfinished = try await cache.unfinished(in: folders, of: [key])
        if json { try StandardOutput.say(json: [CacheJSON.known(key, files, unfinished, now: WallClock.seconds())]) }
        guard !files.isEmpty || !unfinished.isEmpty else {
          throw Refusal(
            "dlm: nothing is known of \(key): it was not downloaded, or without the cache, or was forgotten; dlm cache "
              + "list shows what is known", .failed)
        }
        if !json { try StandardOutput.say(CacheMessages.known(key, files, unfinished, now: WallClock.seconds())) }
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Check that every known file is as it was downloaded.",
      discussion: """
        Reads files that a checksum verified (--checksum, --checksums, or the server's own) again; of others it \
        compares size, time and inode. One line each, as in dlm cache list, with its condition: intact, proven, \
        touched, missing, corrupt or unreadable. Exit status 1 if any has one of the last four.
        """)

    @Flag(help: "As JSON, one object per line.") var json = false

    func run() async throws {
      let counts = try await CacheAtHand.use { [json] cache in
        var counts: [CacheEntry.Condition: Int] = [:]
        try await CacheAtHand.say(pages: { try await cache.verify(after: $0) }, json: json) { entry in
          if let failure = entry.failure { StandardError.say(FailureMessages(failure).said) }
          counts[entry.condition, default: 0] += 1
        }
        return counts
      }
      StandardError.say(CacheMessages.verified(counts))
      if counts.contains(where: { !$0.key.isGood }) { throw ExitStatus.failed }
    }
  }

  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune", abstract: "Forget files that are gone, changed or long unused.",
      discussion: """
        Your files stay. A forgotten file is downloaded again when a list names it, unless it still exists with the \
        same bytes.
        """)

    @Option(help: .value("time", "Also forget files not used for this long: 30d, 12h, 90m, 45s."))
    var olderThan: TimeSpan?

    @Option(
      help: .value(
        "size", "Delete the least recently used of the cache's own copies until they take no more than this."))
    var maxSize: ByteCount?

    @Flag(help: "As one JSON object.") var json = false

    func run() async throws {
      let limit = olderThan.map { WallClock.seconds() - $0.seconds }
      try await CacheAtHand.use { [json, maxSize] cache in
        var freed = try await cache.prune(usedBefore: limit)
        let store = if let maxSize { try await cache.prune(storeTo: maxSize.bytes) } else { nil as Freed? }
        if !json { return try StandardOutput.say([CacheMessages.pruned(freed, store: store)]) }
        if let store { freed.add(store) }
        try StandardOutput.say(json: [CacheJSON.freed(freed)])
      }
    }
  }

  struct Path: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "path", abstract: "Show where the cache is.")

    @Flag(help: "As one JSON object.") var json = false

    func run() throws {
      let folder = try CacheAtHand.folder().string
      if json { return try StandardOutput.say(json: [CacheJSON.path(folder)]) }
      try StandardOutput.say([folder])
    }
  }
}

enum CacheAtHand {
  /// - Throws: the exit status if there is no cache, having said why.
  static func folder() throws(ExitStatus) -> FilePath {
    let folders = XDGFolders()
    if let folder = folders.cache { return folder }
    StandardError.say(folders.warnings)
    throw .failed
  }

  /// - Parameter next: the page behind an entry, for nil the first one; an empty one at the end.
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

  /// Folders that may hold unfinished files, beside those that the index knows.
  static func folders(_ running: [RunningDownloads] = running()) -> [FilePath] {
    let remembered = state.map { RunHistoryStore.outputFolders(below: $0) } ?? []
    return (["."] + running.map(\.directory) + remembered).map { FilePath($0) }
  }

  static func running() -> [RunningDownloads] {
    state.map { RunningDownloads.all(in: RunningSnapshots.folder(below: $0)) } ?? []
  }

  private static var state: FilePath? { XDGFolders().state }

  /// - Throws: the exit status of what failed, having said it; what `body` throws otherwise.
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

  /// - Throws: the exit status if a list cannot be read, having said why: then nothing is removed.
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
    case false?: throw Refusal("dlm: nothing was removed or forgotten", .failed)
    case nil:
      throw Refusal(
        "dlm: \(files) would be removed, and there is no terminal to ask on; give --yes to remove them (dlm cache list "
          + "shows them)", .usage)
    }
  }
}
