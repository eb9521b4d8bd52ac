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
      try await CacheAtHand.use { cache throws(DownloadError) in
        print(CacheWords.status(try await cache.status()))
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Every file known, a line each: condition, size in bytes, address, path."
    )
    func run() async throws {
      try await CacheAtHand.use { cache throws(DownloadError) in
        var last: CacheEntry?
        while true {
          let page = try await cache.list(after: last)
          for entry in page { print(CacheWords.entry(entry)) }
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
      let counts = try await CacheAtHand.use { cache throws(DownloadError) in
        var last: CacheEntry?
        var counts: [CacheEntry.Condition: Int] = [:]
        while true {
          let page = try await cache.verify(after: last)
          for entry in page {
            print(CacheWords.entry(entry))
            if let failure = entry.failure { StandardError.say(["dlm: \(FailureWords(failure).line)"]) }
            counts[entry.condition, default: 0] += 1
          }
          last = page.last
          if page.isEmpty { return counts }
        }
      }
      StandardError.say([CacheWords.verified(counts)])
      if counts.contains(where: { !$0.key.isGood }) { throw ExitCode(ExitStatus.failed.rawValue) }
    }
  }

  struct Prune: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune", abstract: "Forget files that are gone or were changed.")
    func run() async throws {
      try await CacheAtHand.use { cache throws(DownloadError) in
        print(CacheWords.freed(try await cache.prune(), "Pruned"))
      }
    }
  }

  struct Path: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "path", abstract: "Where the cache lies.")
    func run() throws { print(CacheAtHand.folder) }
  }
}

struct ClearCacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear-cache",
    abstract: "Forget everything that was fetched; the files themselves stay.")

  func run() async throws {
    try await CacheAtHand.use { cache throws(DownloadError) in
      print(CacheWords.freed(try await cache.clear(), "Cleared"))
    }
  }
}

/// The user's cache, without a transport.
private enum CacheAtHand {
  static var folder: FilePath { XDGFolders(ProcessInfo.processInfo.environment).cache }

  static func use<Value: Sendable>(
    _ body: @Sendable (DownloadCache) async throws(DownloadError) -> Value
  ) async throws -> Value {
    let cache = DownloadCache(
      configuration: CacheConfiguration(directory: ".", cacheFolder: folder),
      executor: BlockingExecutor(label: "cache-command"))
    let value: Value
    do throws(DownloadError) {
      value = try await body(cache)
    } catch {
      StandardError.say(["dlm: \(FailureWords(error).line)"])
      throw ExitCode(ExitStatus.failed.rawValue)
    }
    StandardError.say(await cache.close().map { CacheWords.line($0) })
    return value
  }
}
