package import DownloadModel
package import FileReceiving
package import SystemPackage

package struct CacheConfiguration {
  /// The folder for finished files. It is created for the first file if it is missing.
  package var directory: FilePath
  /// The path by which the folder is opened, if other users may replace it under its own; `nil` for `directory`.
  package var heldDirectory: FilePath?
  /// The folder of the index; `nil` for no index (`--no-cache`).
  package var cacheFolder: FilePath?
  /// The folder of the user's secret (`UserSecret`), also without an index; `nil` for `cacheFolder`. Without either,
  /// later runs do not recognise the parts of this one.
  package var keyFolder: FilePath?
  /// The folder where this user's processes publish their requests in flight; `nil` if the run takes no part.
  package var claimsFolder: FilePath?
  package var store = StoreKind.none
  /// The greatest size of the store in bytes; `nil` for 10 GiB or a tenth of the disk.
  package var maxStoreBytes: Int64?
  /// Whether a file is durable, including its name, before it counts as finished (`--fsync`).
  package var syncs = false
  /// Whether several runs use the cache: then a later one looks up what an earlier one wrote.
  package var servesManyRuns = false
  package var receiving = ReceivingRules()
  /// Answer from the disk, or fail.
  package var offline = false
  package var freshness = FreshnessPolicy()
  /// The credentials and settings that an answer depends on. Only a keyed hash of them is stored.
  package var trust = Trust() { didSet { fields = RequestFields(trust) } }
  private(set) var fields = RequestFields(Trust())
  /// Whether servers have set cookies, or earlier runs have kept some.
  package var holdsCookies: @Sendable () -> Bool = { false }
  /// Called when a request waits for another process that downloads the same file.
  package var onWait: @Sendable (DownloadRequest, _ process: Int?) -> Void = { _, _ in }

  package init(directory: FilePath, cacheFolder: FilePath?) {
    self.directory = directory
    self.cacheFolder = cacheFolder
  }

  /// How long answers count as fresh, by the user's options (RFC 9111 §4.2, §5.2.1).
  package struct FreshnessPolicy: Equatable {
    /// Revalidate every file, fresh or not (`--revalidate`).
    package var revalidates = false
    /// Guess a lifetime if the server names none (`--heuristic`, RFC 9111 §4.2.2).
    package var guesses = false
    /// Seconds; an older answer is revalidated (`--max-age`).
    package var maxAge: Int?
    /// Seconds for which an answer may be stale (`--max-stale`).
    package var maxStale: Int?

    /// The `Cache-Control` value that passes these options to caches on the way; `nil` if none is set.
    var cacheControl: String? {
      let directives = [
        revalidates ? "no-cache" : nil, maxAge.map { "max-age=\($0)" }, maxStale.map { "max-stale=\($0)" },
      ].compactMap(\.self)
      return directives.isEmpty ? nil : directives.joined(separator: ", ")
    }
  }
}
