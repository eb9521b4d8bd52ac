public import DownloadModel
public import SystemPackage

/// How one run uses the disk.
public struct CacheConfiguration: Sendable {
  /// Where finished files go; made if missing, at the first file.
  public var directory: FilePath
  /// Where the index is kept; nil for no index (`--no-cache`).
  public var cacheFolder: FilePath?
  /// Where the user's secret is kept, by which dlm recognises its own parts in a later run, with or without
  /// an index; made when first needed. Nil for `cacheFolder`. If that is nil as well, the secret lasts as
  /// long as the process, and later runs do not recognise the parts of this one.
  public var keyFolder: FilePath?
  public var conflictPolicy: ConflictPolicy
  /// Fetch even what is known to be unchanged.
  public var refresh: Bool
  /// Answer from the disk or not at all.
  public var offline: Bool
  /// Whether a server may choose a file's name (RFC 6266).
  public var useContentDisposition: Bool
  /// Whether a large file may be filled by several transfers at a time.
  public var splits: Bool
  /// Whether files get the server's Last-Modified (`--remote-time`).
  public var usesRemoteTime: Bool
  /// Checksums that files must meet, by name.
  public var checksums: ChecksumList?
  /// The least proof that lets a file have its final name.
  public var requiredProof: Proof
  /// A longer file fails, in bytes (`--max-filesize`); nil for any length.
  public var maxSize: Int64?
  /// Whether a file is on the disk itself, name and all, before it counts as finished (`--fsync`).
  public var syncs: Bool
  /// The header lines of every request. Of credentials among them only a keyed hash is stored.
  public var fields: RequestFields
  /// The netrc file's logins; nil for none.
  public var logins: NetrcLogins?
  /// Whether servers have set cookies, or earlier runs had kept some.
  public var holdsCookies: @Sendable () -> Bool = { false }
  /// Where this user's processes announce which requests they have under way; nil for a run that neither
  /// announces its own nor looks for theirs.
  public var claimsFolder: FilePath?
  /// Called when a request waits for another process that downloads the same file.
  public var onWait: @Sendable (DownloadRequest) -> Void
  /// The numbers for names that occur in the list more than once; nil for requests that are in no list.
  public var names: NameNumbers?
  /// Seconds since 1970: the wall clock, except in tests.
  public var now: @Sendable () -> Int64

  public init(
    directory: FilePath, cacheFolder: FilePath?, keyFolder: FilePath? = nil,
    conflictPolicy: ConflictPolicy = .rename,
    refresh: Bool = false, offline: Bool = false, useContentDisposition: Bool = true,
    checksums: ChecksumList? = nil, requiredProof: Proof = .nothing, maxSize: Int64? = nil,
    syncs: Bool = false, splits: Bool = true, usesRemoteTime: Bool = false,
    fields: RequestFields = RequestFields(),
    logins: NetrcLogins? = nil,
    names: NameNumbers? = nil, claimsFolder: FilePath? = nil,
    onWait: @escaping @Sendable (DownloadRequest) -> Void = { _ in },
    now: @escaping @Sendable () -> Int64 = WallClock.seconds
  ) {
    self.directory = directory
    self.cacheFolder = cacheFolder
    self.keyFolder = keyFolder
    self.conflictPolicy = conflictPolicy
    self.refresh = refresh
    self.offline = offline
    self.useContentDisposition = useContentDisposition
    self.usesRemoteTime = usesRemoteTime
    self.checksums = checksums
    self.requiredProof = requiredProof
    self.maxSize = maxSize
    self.syncs = syncs
    self.splits = splits
    self.fields = fields
    self.logins = logins
    self.names = names
    self.claimsFolder = claimsFolder
    self.onWait = onWait
    self.now = now
  }
}

/// The configuration behind a reference, because it is large and every download holds it.
final class SharedConfiguration: Sendable {
  let configuration: CacheConfiguration

  init(_ configuration: CacheConfiguration) { self.configuration = configuration }
}

/// What to do with a file that stands under the wanted name, and that dlm either did not write or no longer
/// finds as it wrote it. An untouched file that dlm wrote for the same address is replaced under every
/// policy.
public enum ConflictPolicy: String, Sendable, CaseIterable {
  /// The new file takes another name: `x.1.tar.gz`.
  case rename
  /// The file that stands there stays, and nothing is fetched.
  case skip
  case overwrite
  /// As `rename`, and the person at the terminal is asked afterwards (`DownloadCache.carryOut`).
  case ask
}
