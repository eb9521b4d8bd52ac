import DownloadModel
import SystemPackage
import TestSupport

@testable import FileReceiving

/// An output folder and files on their way into it.
struct Bench: Sendable {
  let folder: TemporaryFolder
  let directory: OutputDirectory

  init(usesUnnamedFiles: Bool = true) throws {
    folder = try TemporaryFolder()
    directory = try OutputDirectory(
      folder.filePath, secret: .forThisProcess(), usesUnnamedFiles: usesUnnamedFiles)
  }

  /// Whether no download under way has the name.
  func isFree(_ name: String) -> Bool {
    let claim = directory.reserve(name)
    return claim != nil
  }

  /// Another process's look at the same folder: its own claims, its own locks.
  /// - Parameter secret: that of another user; nil for the same one.
  func anotherProcess(usesUnnamedFiles: Bool = true, secret: UserSecret? = nil) throws -> Bench {
    Bench(
      folder: folder,
      directory: try OutputDirectory(
        folder.filePath, secret: secret ?? directory.secret, usesUnnamedFiles: usesUnnamedFiles))
  }

  /// The same for a process that begins when all that stands here is older than it, by the clock that stamps
  /// files.
  func laterProcess() throws -> Bench {
    try folder.write("", to: "now")
    let written = try Folder(folder.filePath, mode: 0o700).standing("now")?.changed ?? 0
    try folder.remove("now")
    while WallClock.stamp() <= written {}  // it ticks some hundred times a second
    return try anotherProcess()
  }

  /// Waits for the locks of a process that is gone: a child that another test spawns at this moment has this process's
  /// files, and so their locks (flock(2)), from its fork to its exec. One lock in fifteen was found held so while
  /// children were spawned without a pause.
  func waitForLocks() throws {
    for name in try folder.names() {
      let file = try directory.folder.open(name, 0)
      while !file.lock() {}
      // Said, because a close would leave it with such a child again.
      file.unlock()
    }
  }

  private init(folder: TemporaryFolder, directory: OutputDirectory) {
    self.folder = folder
    self.directory = directory
  }

  func plan(
    _ address: String = "http://host/x", requested: String? = nil, trust: TrustMark = .usual,
    own: CacheRow? = nil,
    known: KnownVersion? = nil, policy: ConflictPolicy = .rename, usesContentDisposition: Bool = true,
    isIndexed: Bool = false, checksum: ContentDigest? = nil,
    rules change: (inout ReceivingRules) -> Void = { _ in }
  ) throws -> DownloadPlan {
    let request = DownloadRequest(
      id: 0, address: try Address(address), wishes: .init(outputName: requested, checksum: checksum))
    var rules = ReceivingRules()
    (rules.conflictPolicy, rules.useContentDisposition) = (policy, usesContentDisposition)
    rules.now = { 784_111_777 }
    change(&rules)
    return DownloadPlan(
      request, SharedRules(rules, mayAsk: true, cacheControl: nil), in: directory,
      rowKey: RowKey(of: request, in: directory),
      trust: RequestTrust(own: trust, redirected: trust), files: KnownFiles(.unknown, own: own), known: known,
      isIndexed: isIndexed)
  }

  func file(_ address: String = "http://host/x", meter: TransferMeter = TransferMeter()) throws
    -> FileDownload
  {
    FileDownload(try plan(address), meter: meter)
  }
}

extension FileDownload {
  convenience init(_ plan: DownloadPlan) { self.init(plan, meter: TransferMeter()) }

  /// Ends a transfer as a scheduler does.
  func ended(_ receipt: TransferReceipt) throws(DownloadError) -> FileDownloadState.Finished? {
    _ = try finish(receipt)
    if case .finished(let finished) = look({ $0.phase }) { return finished }
    return nil
  }

  /// The same, and gives the file its name as the cache does, without an index.
  func commit(_ receipt: TransferReceipt, own: CacheRow? = nil) throws -> DownloadOutcome {
    guard case .whole(let proof) = try ended(receipt) else { throw NotWhole() }
    return try placed(own: own, proof: proof).0
  }

  func placed(own: CacheRow? = nil, proof: Proof = .length) throws -> (DownloadOutcome, CacheRow?) {
    guard case .committed(let committed) = try place(.known(own), proof: proof) else {
      throw NotWhole()
    }
    return (committed.outcome, committed.row)
  }

  func place(
    _ ownership: DownloadPlan.Ownership, proof: Proof = .length
  ) throws(DownloadError) -> Commit.Attempt {
    try Commit(self, proof: proof).attempt(ownership, FileOwners(), looksForTwin: false)
  }

  struct NotWhole: Error {}
}

extension TemporaryFolder {
  /// Its path, as the room takes paths.
  var filePath: FilePath { FilePath(path) }
}
