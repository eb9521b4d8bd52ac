import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving
import FoundationEssentials
import SystemPackage

struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache", abstract: "Look at what dlm remembers of the files it fetched.",
    discussion: """
      The cache is an index: of each file its address, where it lies, how it looked, and what its server gave to tell \
      one version from the next. The files themselves are where you put them; where the file system can share blocks, \
      or --store asks for it, the cache has them as well.
      """,
    subcommands: [Status.self, List.self, Show.self, Verify.self, Prune.self, Path.self],
    defaultSubcommand: Status.self)

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "How much is known, what it takes, what other runs have under way, and what is unfinished.",
      discussion: "What the cache takes is what du would say: blocks on the disk, not lengths.")

    @Flag(help: "As one JSON object.") var json = false

    func run() async throws {
      let running = CacheAtHand.running()
      let folders = CacheAtHand.folders(running)
      try await CacheAtHand.use { [json] cache in
        let unfinished = try await cache.unfinished(in: folders)
        let status = try await cache.status()
        if json {
          return try StandardOutput.write(CacheJSON.status(status, running, unfinished))
        }
        try StandardOutput.say(
          [CacheMessages.status(status)] + running.flatMap { CacheMessages.running($0) }
            + CacheMessages.unfinished(unfinished))
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Every file known, a line each: condition, size in bytes, address, path.")

    @Flag(help: "As JSON, an object a line.") var json = false

    func run() async throws {
      try await CacheAtHand.use { [json] cache in
        try await CacheAtHand.say(pages: { try await cache.list(after: $0) }, json: json)
      }
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Everything known of an address.",
      discussion: """
        Its files in all folders, with and without logins: path, length, condition, when it was fetched and last used, \
        what its server gave to tell one version from the next and for how long it may be used; and what there is of \
        it unfinished. Exit status 1 if nothing is known.
        """)

    @Argument(help: "The address; a user and a password in it make no difference.") var address: CachedAddress
    @Flag(help: "As one JSON object.") var json = false

    func run() async throws {
      let folders = CacheAtHand.folders()
      let isKnown = try await CacheAtHand.use { [json, key = address.key] cache in
        let files = try await cache.details(of: key)
        let unfinished = try await cache.unfinished(in: folders, of: [key])
        let isKnown = !files.isEmpty || !unfinished.isEmpty
        if json {
          try StandardOutput.write(CacheJSON.known(key, files, unfinished))
        } else if isKnown {
          try StandardOutput.say(CacheMessages.known(key, files, unfinished, now: WallClock.seconds()))
        }
        return isKnown
      }
      guard !isKnown else { return }
      StandardError.say([
        "dlm: nothing is known of \(address.key): it was not fetched with the cache on, or was forgotten since; dlm "
          + "cache list names what is known"
      ])
      throw ExitCode(ExitStatus.failed.rawValue)
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Compare every file known with what was fetched.",
      discussion: """
        Files whose checksum was proved (--checksum, --checksums, or the server's own) are read again; of the others, \
        size, time and inode are compared. A line each, as of dlm cache list, with the condition intact, proven, \
        touched, missing, corrupt or unreadable. Exit status 1 if one of the last four was found.
        """)

    @Flag(help: "As JSON, an object a line.") var json = false

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
      if counts.contains(where: { !$0.key.isGood }) { throw ExitCode(ExitStatus.failed.rawValue) }
    }
  }

  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune", abstract: "Forget files that are gone or were changed, and what was long not used.",
      discussion: """
        No file of yours is removed. What is forgotten is fetched again when it is asked for, unless a file with the \
        same bytes stands under its name: then that is taken again.
        """)

    @Option(help: .value("time", "Forget also what was not used for so long: 30d, 12h, 90m, 45s."))
    var olderThan: TimeSpan?

    @Option(
      help: .value(
        "size", "Remove the bodies used least recently from the cache's own store until it takes no more than this."))
    var maxSize: ByteCount?

    @Flag(help: "As one JSON object.") var json = false

    func run() async throws {
      let limit = olderThan.map { WallClock.seconds() - $0.seconds }
      try await CacheAtHand.use { [json, maxSize] cache in
        let freed = try await cache.prune(usedBefore: limit)
        var store: Freed?
        if let maxSize { store = try await cache.prune(storeTo: maxSize.bytes) }
        if json {
          var all = freed
          if let store { all.add(store) }
          return try StandardOutput.write(CacheJSON.freed(all))
        }
        try StandardOutput.say([CacheMessages.pruned(freed, store: store)])
      }
    }
  }

  struct Path: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "path", abstract: "Where the cache lies.")

    @Flag(help: "As one JSON object.") var json = false

    func run() throws {
      let folder = try CacheAtHand.folder().string
      if json { return try StandardOutput.write(CacheJSON.path(folder)) }
      try StandardOutput.say([folder])
    }
  }
}

enum CacheAtHand {
  /// - Throws: the exit status where there is none, having said why.
  static func folder() throws(ExitCode) -> FilePath {
    let folders = XDGFolders(ProcessInfo.processInfo.environment)
    if let folder = folders.cache { return folder }
    StandardError.say(folders.warnings)
    throw ExitCode(ExitStatus.failed.rawValue)
  }

  /// - Parameter next: the page behind an entry, for nil the first one; an empty one at the end.
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

  /// Folders that may hold unfinished files, beside those that the index knows.
  static func folders(_ running: [RunningDownloads] = running()) -> [FilePath] {
    let remembered = state.map { RunHistoryStore.outputFolders(below: $0) } ?? []
    return (["."] + running.map(\.directory) + remembered).map { FilePath($0) }
  }

  static func running() -> [RunningDownloads] {
    state.map { RunningDownloads.all(in: RunningSnapshots.folder(below: $0)) } ?? []
  }

  private static var state: FilePath? { XDGFolders(ProcessInfo.processInfo.environment).state }

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
