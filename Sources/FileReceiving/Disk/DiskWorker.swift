import CLinux
package import DownloadModel
import Glibc
import Synchronization
package import SystemPackage

/// Reads, copies and syncs whole files on a thread that may block. In a cancelled task, reading and copying throw
/// `.cancelled` at the next block.
package actor DiskWorker {
  private let executor: BlockingExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  package init(_ name: String) { executor = BlockingExecutor(label: "dlm.\(name)") }

  package func verdict(on download: FileDownload, _ expected: ContentDigest) throws(DownloadError) -> DigestVerdict {
    let found = try download.access { receiver throws(DownloadError) in try receiver.readDigest(expected) }
    return DigestVerdict(expected: expected, found: found)
  }

  package func verdict(
    _ verdict: DigestVerdict, on download: FileDownload, by pieces: PieceHashes
  ) throws(DownloadError) -> DigestVerdict {
    try download.access { receiver throws(DownloadError) in try receiver.verdict(verdict, by: pieces) }
  }

  /// The digest of a file on the disk; `nil` if it is no longer the file of the row.
  package func digest(of row: CacheRow, _ algorithm: ContentDigest.Algorithm) throws(DownloadError) -> ContentDigest? {
    do {
      guard let file = try Descriptor.open(row), try row.describes(file.standing()),
        let digest = try file.digest(algorithm), try row.describes(file.standing())
      else { return nil }
      return digest
    } catch { throw DownloadError(.disk, error, row.path, "reading") }
  }

  package func adopt(for commit: Commit, _ owners: FileOwners) throws(DownloadError) -> Commit.Committed? {
    try commit.adopt(owners)
  }

  package func fill(_ download: FileDownload, from source: CacheRow) throws(DownloadError) -> Bool {
    try download.copy(source)
  }

  /// Makes the bytes of a download durable (`--fsync`) before the file gets its name.
  package func sync(_ download: FileDownload) throws(DownloadError) {
    try download.access { receiver throws(DownloadError) in
      try receiver.part.withFile("syncing") { file throws(Errno) in try file.sync() }
    }
  }

  package func syncNames(_ directory: OutputDirectory) throws(DownloadError) {
    do { try directory.folder.sync() } catch { throw directory.failure(error, "syncing", "") }
  }
}

/// Work on finished files, which are recognised by the identity in their row.
extension Descriptor {
  static func open(_ row: CacheRow) throws(Errno) -> Descriptor? {
    do {
      return try Descriptor(opened: Glibc.open(row.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK))
    } catch .noSuchFileOrDirectory, .tooManySymbolicLinkLevels { return nil }
  }

  package static func openIntact(_ row: CacheRow) throws(Errno) -> Descriptor? {
    guard let file = try open(row), try row.isIntact(file.standing()) else { return nil }
    return file
  }

  /// Copies a finished file into this one: shares its blocks if the file system can (FICLONE), otherwise copies within
  /// the kernel (copy_file_range). Never adds a name: a change of one file in place would change the other too.
  /// - Parameter mayClone: whether the file system may support clones; set to false if it does not.
  /// - Returns: the length; `nil` if the source is not (or no longer) the file of the row, or may not be read.
  func copy(_ source: CacheRow, mayClone: borrowing Atomic<Bool>) throws(Errno) -> Int64? {
    let opened: Descriptor?
    do { opened = try Self.openIntact(source) } catch .notDirectory, .permissionDenied, .notPermitted {
      return nil
    }
    guard let file = opened else { return nil }
    let length = source.identity.size
    if !(mayClone.load(ordering: .relaxed) && clone(file)) {
      if errno == EOPNOTSUPP || errno == ENOTTY { mayClone.store(false, ordering: .relaxed) }
      if try copyBytes(of: file, length) < length { return nil }
    }
    let standing = try file.standing()
    guard source.isIntact(standing) else { return nil }
    if !source.changed.isThat(of: standing), try digest(.sha256)?.hex != source.sum { return nil }
    return length
  }

  /// Shares the blocks of a file with this one (FICLONE, ioctl_ficlone(2)).
  /// - Returns: false if the file system cannot, or if the files are on different file systems.
  package func clone(_ file: borrowing Descriptor) -> Bool { ioctl(raw, 0x4004_9409, file.raw) == 0 }

  /// Up to this length, a copy through this process is faster than within the kernel: 21 µs per file instead of 26.
  private static let short: Int64 = 1 << 16

  /// Copies the first `length` bytes of a file, or as many as it has, within the kernel if that is faster.
  /// - Throws: errno of reading or writing; ECANCELED when the task was cancelled.
  package func copyBytes(of file: borrowing Descriptor, _ length: Int64) throws(Errno) -> Int64 {
    var byHand = length <= Self.short
    var offset: Int64 = 0
    while offset < length {
      try Self.checkCancellation()
      let most = Int(min(length - offset, Int64(Self.blockLength)))
      if byHand {
        let bytes = try file.read(most, at: offset)
        if bytes.isEmpty { return offset }
        try write(bytes, at: offset)
        offset += Int64(bytes.count)
        continue
      }
      let count = dlm_copy_file_range(file.raw, raw, offset, most)
      if count == 0 { return offset }
      // Some pairs of file systems do not support it. A disk failure repeats in the copy by hand.
      if count < 0 { byHand = errno != EINTR }
      offset += Int64(max(0, count))
    }
    return offset
  }

  package func digest(
    _ algorithm: ContentDigest.Algorithm, in range: Range<Int64> = 0..<Int64.max
  ) throws(Errno) -> ContentDigest? {
    var hasher = ContentHasher(algorithm)
    var offset = range.lowerBound
    while true {
      try Self.checkCancellation()
      let bytes = try read(Int(min(range.upperBound - offset, Int64(Self.blockLength))), at: offset)
      if bytes.isEmpty { return hasher.finish() }
      bytes.withUnsafeBytes { hasher.update($0) }
      offset += Int64(bytes.count)
    }
  }

  /// - Returns: the numbers of the pieces with wrong bytes.
  func wrongPieces(_ pieces: PieceHashes, of size: Int64) throws(Errno) -> [Int] {
    var wrong: [Int] = []
    for piece in 0..<pieces.count {
      let found = try digest(pieces.algorithm, in: pieces.range(of: piece, in: size))?.bytes ?? []
      if !pieces.hashes.dropFirst(piece * found.count).starts(with: found) { wrong.append(piece) }
    }
    return wrong
  }

  /// Sets the modification time, in seconds since 1970. Does nothing on a file system that does not allow it.
  func setModified(_ seconds: Int64) throws(Errno) {
    // UTIME_OMIT (utimensat(2)): the access time stays.
    let times = [timespec(tv_sec: 0, tv_nsec: 0x3FFF_FFFE), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
    guard futimens(raw, times) == 0 || errno == EPERM || errno == EOPNOTSUPP || errno == EOVERFLOW else { throw .last }
  }

  /// - Returns: the file as it is afterwards; `nil` if it is not (or no longer) the file of the row.
  package static func stamp(_ row: CacheRow, _ seconds: Int64) throws(Errno) -> StandingFile? {
    guard let file = try openIntact(row) else { return nil }
    try file.setModified(seconds)
    return try file.standing()
  }
}

extension FileReceiver {
  /// From this many wrong pieces on, the whole file is downloaded again, because resume metadata would get too long.
  private static let mostWrong = 256

  /// The verdict of the piece hashes on a complete file that no checksum has proved. Blocks.
  func verdict(_ verdict: DigestVerdict, by pieces: PieceHashes) throws(DownloadError) -> DigestVerdict {
    let size = length
    guard pieces.cover(size) else {
      return .wrongPieces([], "wanted \(pieces.count) pieces of \(pieces.length) bytes, got \(size) bytes")
    }
    let wrong = try part.withFile("reading") { file throws(Errno) in try file.wrongPieces(pieces, of: size) }
    guard let wrong else { throw .cancelled }
    guard let first = wrong.first else { return verdict == .none ? .match : verdict }
    let ranges = wrong.map { pieces.range(of: $0, in: size) }
    let place = "bytes \(ranges[0].lowerBound) to \(ranges[0].upperBound - 1)"
    let more = wrong.count > 1 ? ", and \(wrong.count - 1) more" : ""
    return .wrongPieces(
      wrong.count < min(pieces.count, Self.mostWrong) ? ranges : [],
      "piece \(first + 1) of \(pieces.count) (\(place)) is wrong by its \(pieces.algorithm)\(more)")
  }
}
