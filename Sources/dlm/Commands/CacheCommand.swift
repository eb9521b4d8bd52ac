import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving
import RunDoors
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
      let running = RunStatus.all().filter(\.isAlive)
      let folders = CacheAtHand.folders()
      try await CacheAtHand.use { [json] cache in
        let active = Set(running.flatMap { $0.snapshot?.active ?? [] }.map(\.url))
        let unfinished = try await cache.unfinished(in: folders).filter { !active.contains($0.address) }
        let status = try await cache.status()
        if json { return try StandardOutput.say(json: [CacheJSON.status(status, running, unfinished)]) }
        try StandardOutput.say(
          [CacheMessages.status(status)] + running.flatMap { RunStatus.lines([$0]).map { "Running: \($0)" } + $0.files }
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

  /// A URL in the form of the cache: without parts that identify a user.
  struct CachedAddress: ExpressibleByArgument {
    let key: String

    init?(argument: String) {
      guard let address = try? Address(argument) else { return nil }
      key = address.resource
    }
  }
}
