import DownloadModel
import SystemPackage

@testable import DownloadCaching

/// An output folder and files on their way into it.
struct Bench: Sendable {
  let folder: TemporaryFolder
  let directory: OutputDirectory

  init(usesUnnamedFiles: Bool = true) throws {
    folder = try TemporaryFolder()
    directory = try OutputDirectory(
      folder.path, secret: .forThisProcess(), usesUnnamedFiles: usesUnnamedFiles)
  }

  /// Another process's look at the same folder: its own claims, its own locks.
  /// - Parameter secret: that of another user; nil for the same one.
  func anotherProcess(usesUnnamedFiles: Bool = true, secret: UserSecret? = nil) throws -> Bench {
    Bench(
      folder: folder,
      directory: try OutputDirectory(
        folder.path, secret: secret ?? directory.secret, usesUnnamedFiles: usesUnnamedFiles))
  }

  /// The same for a process that begins when all that stands here is older than it, by the clock that stamps files.
  func laterProcess() throws -> Bench {
    try folder.write("", to: "now")
    let written = try Folder(folder.path, mode: 0o700).standing("now")?.changed ?? 0
    try folder.remove("now")
    while WallClock.stamp() <= written {}  // it ticks some hundred times a second
    return try anotherProcess()
  }

  private init(folder: TemporaryFolder, directory: OutputDirectory) {
    self.folder = folder
    self.directory = directory
  }

  func order(
    _ address: String = "http://host/x", requested: String? = nil, scope: String = "", own: CacheRow? = nil,
    known: KnownVersion? = nil, policy: ConflictPolicy = .rename, usesContentDisposition: Bool = true,
    isIndexed: Bool = false, meter: TransferMeter = TransferMeter()
  ) throws -> FileOrder {
    FileOrder(
      address: try Address(address), requested: requested, meter: meter, directory: directory, scope: scope,
      own: own, known: known, policy: policy, usesContentDisposition: usesContentDisposition,
      isIndexed: isIndexed, now: { 784_111_777 })
  }

  func file(_ address: String = "http://host/x", meter: TransferMeter = TransferMeter()) throws -> PartialFile
  {
    PartialFile(try order(address, meter: meter))
  }
}

extension PartialFile {
  /// Ends a transfer as the cache does, without an index.
  func commit(_ receipt: TransferReceipt, own: CacheRow? = nil) throws -> DownloadOutcome {
    guard case .whole(let proof) = try finish(receipt) else { throw NotWhole() }
    return try placed(own: own, proof: proof).0
  }

  func placed(own: CacheRow? = nil, proof: Proof = .length) throws -> (DownloadOutcome, CacheRow?) {
    let placement = try place(.known(own), proof: proof) { _ in }
    guard case .placed(let outcome, _, let row) = placement else { throw NotWhole() }
    return (outcome, row)
  }

  struct NotWhole: Error {}
}
