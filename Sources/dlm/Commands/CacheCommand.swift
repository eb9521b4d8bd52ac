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
      The cache is an index: of each file its address, where it lies, how it looked, and what its server gave to \
      tell one version from the next. The files themselves are where you put them.
      """,
    subcommands: [Status.self, List.self, Verify.self, Prune.self, Path.self], defaultSubcommand: Status.self)

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status", abstract: "How much is known, and what it takes.")
    func run() async throws {
      try await CacheAtHand.use { cache in
        try StandardOutput.say([CacheWords.status(try await cache.status())])
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Every file known, a line each: condition, size in bytes, address, path."
    )
    func run() async throws {
      try await CacheAtHand.use { cache in
        var last: CacheEntry?
        while true {
          let page = try await cache.list(after: last)
          try StandardOutput.say(rows: page.map(CacheWords.entry))
          last = page.last
          if page.isEmpty { return }
        }
      }
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
    func run() async throws {
      let counts = try await CacheAtHand.use { cache in
        var last: CacheEntry?
        var counts: [CacheEntry.Condition: Int] = [:]
        while true {
          let page = try await cache.verify(after: last)
          try StandardOutput.say(rows: page.map(CacheWords.entry))
          for entry in page {
            if let failure = entry.failure { StandardError.say(["dlm: \(FailureWords(failure).line)"]) }
            counts[entry.condition, default: 0] += 1
          }
          last = page.last
          if page.isEmpty { return counts }
        }
      }
      StandardError.say(CacheWords.verified(counts))
      if counts.contains(where: { !$0.key.isGood }) { throw ExitCode(ExitStatus.failed.rawValue) }
    }
  }

  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune", abstract: "Forget files that are gone or were changed.")
    func run() async throws {
      try await CacheAtHand.use { cache in
        try StandardOutput.say([CacheWords.freed(try await cache.prune(), "Pruned")])
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
      try StandardOutput.say([CacheWords.freed(try await cache.clear(), "Cleared")])
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

  /// - Throws: the exit status of what failed, having said it; what `body` throws otherwise.
  static func use<Value: Sendable>(
    _ body: @Sendable (DownloadCache) async throws -> Value
  ) async throws -> Value {
    let cache = DownloadCache(
      configuration: CacheConfiguration(directory: ".", cacheFolder: try folder()),
      executor: BlockingExecutor(label: "cache-command"))
    let result: Result<Value, any Error>
    do { result = .success(try await body(cache)) } catch { result = .failure(error) }
    StandardError.say(await cache.close().map { CacheWords.line($0) })
    do {
      return try result.get()
    } catch let error as DownloadError {
      StandardError.say(["dlm: \(FailureWords(error).line)"])
      throw ExitCode(ExitStatus.failed.rawValue)
    }
  }
}
