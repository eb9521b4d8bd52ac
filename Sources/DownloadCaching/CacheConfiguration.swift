public import DownloadModel
public import SystemPackage

/// How one run uses the disk.
public struct CacheConfiguration: Sendable {
  /// Where finished files go; made if missing, at the first file.
  public var directory: FilePath
  /// Where the index is kept; nil for no index (`--no-cache`).
  public var cacheFolder: FilePath?
  public var conflictPolicy: ConflictPolicy
  /// Fetch even what is known to be unchanged.
  public var refresh: Bool
  /// Answer from the disk or not at all.
  public var offline: Bool
  /// Whether a server may choose a file's name (RFC 6266).
  public var useContentDisposition: Bool
  /// Checksums that files must meet, by name.
  public var checksums: ChecksumList?
  /// The least proof that lets a file have its final name.
  public var requiredProof: Proof
  /// Whether a file is on the disk itself, name and all, before it counts as finished (`--fsync`).
  public var syncs: Bool
  /// What says who asks, besides credentials in an address: `Authorization` lines, the netrc file's name. Only a
  /// keyed hash of it is stored. Nil for nothing.
  public var credentials: String?
  /// Seconds since 1970: the wall clock, except in tests.
  public var now: @Sendable () -> Int64

  public init(
    directory: FilePath, cacheFolder: FilePath?, conflictPolicy: ConflictPolicy = .rename,
    refresh: Bool = false, offline: Bool = false, useContentDisposition: Bool = true,
    checksums: ChecksumList? = nil, requiredProof: Proof = .nothing, syncs: Bool = false,
    credentials: String? = nil,
    now: @escaping @Sendable () -> Int64 = WallClock.seconds
  ) {
    self.directory = directory
    self.cacheFolder = cacheFolder
    self.conflictPolicy = conflictPolicy
    self.refresh = refresh
    self.offline = offline
    self.useContentDisposition = useContentDisposition
    self.checksums = checksums
    self.requiredProof = requiredProof
    self.syncs = syncs
    self.credentials = credentials
    self.now = now
  }
}
