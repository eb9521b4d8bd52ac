public import ArgumentParser
public import DownloadCaching
import DownloadModel
import SystemPackage

// Where files go, what happens to those that stand there, and what proves the new ones: the options, and what they come
// to.

extension ConflictPolicy: ExpressibleByArgument {
  public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  public static var allValueDescriptions: [String: String] { [:] }
}

extension StoreKind: ExpressibleByArgument {
  public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
  public static var allValueDescriptions: [String: String] { [:] }
}

struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("d", allowingJoined: true), .long],
    help: .value("dir", "Where files go; made if missing (default: .)."), completion: .directory)
  var directory: String?

  @Option(
    name: [.customShort("o", allowingJoined: true), .long],
    help: .value("name", "The name, for a single address (default: by address or server)."))
  var output: String?

  @Option(help: .value("policy", "What to do with a file that dlm did not write (default: rename)."))
  var onConflict: ConflictPolicy?

  @Option(help: .value("size", "A file that is, or becomes, longer fails: 500K, 2G (default: any length)."))
  var maxFilesize: ByteRate?

  @Flag(help: "Ask a name for each file, one at a time, while others go on.")
  var askNames = false

  @Flag(help: "Neither use nor fill the cache.")
  var noCache = false

  @Option(help: .value("kind", "How the cache keeps what outlives your files (default: auto)."))
  var store: StoreKind?

  @Option(
    help: .value("size", "How much the cache may keep of its own: 500M, 20G (default: 10G, or a tenth of the disk)."))
  var cacheMaxSize: ByteRate?

  @Flag(help: "Fetch anew what the cache knows.")
  var refresh = false

  @Flag(help: "Take everything from the cache; the network is not asked.")
  var offline = false

  @Flag(help: "Ask about every file, also where the server said for how long it is fresh.")
  var revalidate = false

  @Flag(help: "Guess how long a file is fresh where the server does not say.")
  var heuristic = false

  @Option(help: .value("seconds", "Ask about files that are older, fresh or not (default: any age)."))
  var maxAge: Count?

  @Option(help: .value("seconds", "Use a file unasked until it has been stale for so long (default: none)."))
  var maxStale: Count?

  @Flag(help: "Have each file on the disk itself, then its name, before it counts as done.")
  var fsync = false

  @Flag(help: "Give files the server's time of their last change.")
  var remoteTime = false

  @Flag(help: "Name files by their address, whatever the server suggests.")
  var noContentDisposition = false
}

struct ProofOptions: ParsableArguments {
  @Option(
    help: .value(
      "algo:hex",
      "The checksum that a single address's file must have: sha256:HEX, also sha512, sha384, "
        + "sha1, md5 (default: none)."))
  var checksum: ContentDigest?

  @Option(
    help: .value("file", "Checksums for a list, by file name, as sha256sum writes them (default: none)."),
    completion: .file())
  var checksums: String?

  @Option(help: .value("proof", "Refuse a file that less than this proves (default: none)."))
  var requireProof: Proof?
}

/// How a run uses the disk and the cache.
struct OutputSettings {
  /// As the user wrote it.
  var directory: String
  let asksNames: Bool
  /// The checksum of the single address's file.
  let checksum: ContentDigest?
  /// `--checksums`.
  let checksumsFile: String?
  let usesCache: Bool
  /// Without what is the run's own: its folders, and what an answer depends on (see `Wiring`).
  var cache: CacheConfiguration

  /// Whether names or conflicts are questions for the user.
  var asks: Bool { asksNames || cache.conflictPolicy == .ask }

  /// - Parameter lists: what the command downloads.
  /// - Throws: `ValidationError`.
  init(
    _ output: OutputOptions, _ proof: ProofOptions, _ lists: [Source], _ sources: SettingsSources
  ) throws {
    directory = output.directory ?? "."
    asksNames = output.askNames
    checksum = proof.checksum
    checksumsFile = proof.checksums
    usesCache = !output.noCache
    cache = CacheConfiguration(directory: FilePath(directory), cacheFolder: nil)
    cache.conflictPolicy = output.onConflict ?? .rename
    (cache.refresh, cache.offline) = (output.refresh, output.offline)
    cache.freshness = FreshnessPolicy(
      revalidates: output.revalidate, guesses: output.heuristic, maxAge: output.maxAge?.number,
      maxStale: output.maxStale?.number)
    cache.useContentDisposition = !output.noContentDisposition
    cache.requiredProof = proof.requireProof ?? .nothing
    (cache.maxSize, cache.syncs) = (output.maxFilesize?.bytesPerSecond, output.fsync)
    cache.usesRemoteTime = output.remoteTime
    (cache.store, cache.maxStoreBytes) = (output.store ?? .auto, output.cacheMaxSize?.bytesPerSecond)
    for (isOther, other, message) in [
      (output.noCache, "no-cache", UsageMessages.offlineWithoutCache),
      (output.revalidate, "revalidate", UsageMessages.offlineAsking),
      (output.refresh, "refresh", UsageMessages.offlineAnew),
    ] where output.offline && isOther {
      throw sources.conflict(message, "offline", other)
    }
    let isSingle = lists.count == 1 && lists[0].isAddress
    if let name = output.output {
      guard name != "-" else { throw ValidationError(UsageMessages.outputToPipe) }
      guard FileNaming.isUsable(name) else { throw ValidationError(UsageMessages.noFileName(name)) }
      guard isSingle else { throw ValidationError(UsageMessages.outputOfList) }
    }
    if checksum != nil, !isSingle { throw ValidationError(UsageMessages.checksumOfList) }
  }

  /// Where a request's file would go, before any server was asked.
  func path(of request: DownloadRequest) -> String {
    let name = request.outputName ?? FileNaming.name(of: request)
    return "\(directory)/\(name)"
  }

  // MARK: Files of the user's

  /// Reads `--checksums`.
  /// - Throws: `ExitCode` 66 when it cannot be read, having said why.
  mutating func readChecksums(_ path: String) throws {
    let list: ChecksumList
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      let bytes = try file.closeAfter { try file.bytes(upTo: Self.longestChecksums) }
      guard bytes.count <= Self.longestChecksums else { throw Errno.fileTooLarge }
      list = ChecksumList(bytes)
    } catch {
      StandardError.say([UsageMessages.unreadableChecksums(path, error)])
      throw ExitCode(ExitStatus.sourceUnreadable.rawValue)
    }
    StandardError.say(
      UsageMessages.checksumsLeftOut(path, malformed: list.malformedLines, ambiguous: list.ambiguousNames))
    if list.count == 0 {
      StandardError.say([UsageMessages.noChecksums(path)])
      throw ExitCode(ExitStatus.sourceUnreadable.rawValue)
    }
    cache.checksums = list
  }

  /// Two million lines; what is longer may have no end (`/dev/zero`).
  private static let longestChecksums = 256 << 20
}
