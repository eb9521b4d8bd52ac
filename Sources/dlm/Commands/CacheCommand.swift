import ArgumentParser
import DownloadCaching
import DownloadModel
import Foundation
import SystemPackage

struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache",
    abstract: "Look at what dlm remembers of the files it fetched.",
    discussion: """
      The cache is an index: of each file its address, where it lies, how it looked, and what its server \
      gave to tell one version from the next. The files themselves are where you put them.
      """,
    subcommands: [Status.self, List.self, Verify.self, Prune.self, Path.self], defaultSubcommand: Status.self)

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status", abstract: "How much is known, what it takes, and what other runs have under way."
    )

    @Flag(help: "As one JSON object.")
    var json = false

    func run() async throws {
      let state = XDGFolders(ProcessInfo.processInfo.environment).state
      let running = state.map { RunningDownloads.all(in: RunningSnapshots.folder(below: $0)) } ?? []
      try await CacheAtHand.use { [json] cache in
        let status = try await cache.status()
        if json { return try StandardOutput.write(try CacheMessages.json(status, running)) }
        try StandardOutput.say(
          [CacheMessages.status(status)] + running.flatMap { CacheMessages.running($0) })
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Every file known, a line each: condition, size in bytes, address, path."
    )
    func run() async throws {
      try await CacheAtHand.use { cache in
        try await CacheAtHand.say(pages: { try await cache.list(after: $0) })
      }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Compare every file known with what was fetched.",
      discussion: """
        Files whose checksum was proved (--checksum, --checksums, or the server's own) are read again; of \
        the others, size, time and inode are compared. A line each, as of dlm cache list, with the condition \
        intact, proven, touched, missing, corrupt or unreadable. Exit status 1 if one of the last four was \
        found.
        """)
    func run() async throws {
      let counts = try await CacheAtHand.use { cache in
        var counts: [CacheEntry.Condition: Int] = [:]
        try await CacheAtHand.say(pages: { try await cache.verify(after: $0) }) { entry in
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
      commandName: "prune", abstract: "Forget files that are gone or were changed.")
    func run() async throws {
      try await CacheAtHand.use { cache in
        try StandardOutput.say([CacheMessages.pruned(try await cache.prune())])
      }
    }
  }

  struct Path: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "path", abstract: "Where the cache lies.")
    func run() throws { try StandardOutput.say([CacheAtHand.folder().string]) }
  }
}

struct ClearCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear-cache",
    abstract: "Forget everything that was fetched; the files themselves stay.")

  func run() async throws {
    try await CacheAtHand.use { cache in
      try StandardOutput.say([CacheMessages.cleared(try await cache.clear())])
    }
  }
}

/// The user's cache, without a transport.
private enum CacheAtHand {
  /// - Throws: the exit status where there is none, having said why.
  static func folder() throws(ExitCode) -> FilePath {
    let folders = XDGFolders(ProcessInfo.processInfo.environment)
    if let folder = folders.cache { return folder }
    StandardError.say(folders.warnings)
    throw ExitCode(ExitStatus.failed.rawValue)
  }

  /// Says entries a page at a time, a row each.
  /// - Parameters:
  ///   - next: the page behind an entry; the first for nil; an empty one at the end.
  ///   - each: told of each entry that was said.
  static func say(
    pages next: (CacheEntry?) async throws -> [CacheEntry], each: (CacheEntry) -> Void = { _ in }
  ) async throws {
    var last: CacheEntry?
    while true {
      let page = try await next(last)
      try StandardOutput.say(rows: page.map(CacheMessages.entry))
      page.forEach(each)
      last = page.last
      if page.isEmpty { return }
    }
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
