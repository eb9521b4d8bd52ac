import Dispatch
import DownloadModel
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import FileReceiving

extension DiskWorker {
  /// Stands still on the copier's own thread, as a file of gigabytes has it do.
  fileprivate func hold(_ isHeld: DispatchSemaphore, until mayGo: DispatchSemaphore) {
    isHeld.signal()
    mayGo.wait()
  }
}

/// Files of gigabytes once were read to their end whoever was cancelled, and every fsync stood in line behind
/// them.
@Suite("What blocks on the disk can be cancelled, and does not hold up the rest", .timeLimit(.minutes(hangMinutes)))
struct DiskWorkerTests {
  private static let expected = ContentDigest(hex: String(repeating: "0", count: 64))
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A file of that length without a byte on the disk: read whole, a TiB takes a quarter of an hour.
  private func sparse(_ name: String, _ length: Int64) throws -> CacheRow {
    try folder.write([], to: name)
    let path = folder.path(name)
    guard Glibc.truncate(path, off_t(length)) == 0 else { throw Errno(rawValue: errno) }
    let file = try #require(StandingFile.of(path: path))
    return CacheRow(
      key: RowKey(address: "http://host/x", directory: folder.path, requested: ""),
      name: name, wanted: name, identity: file.identity, changed: ChangeTime(of: file),
      validator: Validator(etag: "\"v1\""), fetchedAt: 0, freshness: FreshnessFields())
  }

  /// Runs `body` with its task cancelled while the copier is busy, so that it comes to its turn as a
  /// cancelled one.
  private func cancelled<Value: Sendable>(
    _ copier: DiskWorker, _ body: @escaping @Sendable () async throws(DownloadError) -> Value
  ) async -> DownloadError.Code? {
    let (isHeld, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let holder = Task { await copier.hold(isHeld, until: mayGo) }
    await wait(for: isHeld)
    let task = Task { () async -> DownloadError.Code? in
      do throws(DownloadError) { _ = try await body() } catch { return error.code }
      return nil
    }
    task.cancel()
    mayGo.signal()
    await holder.value
    return await task.value
  }

  @Test func aDigest() async throws {
    let (copier, row) = (DiskWorker("test"), try sparse("big", 1 << 40))
    #expect(
      await cancelled(copier) { () throws(DownloadError) in try await copier.digest(of: row, .sha256) }
        == .cancelled)
  }

  /// While it is being read: the look is taken between blocks, not only at the start.
  @Test func aDigestInTheMiddle() async throws {
    let (copier, row) = (DiskWorker("test"), try sparse("big", 1 << 40))
    let task = Task { () async -> DownloadError.Code? in
      do throws(DownloadError) { _ = try await copier.digest(of: row, .md5) } catch { return error.code }
      return nil
    }
    try await Task.sleep(for: .milliseconds(100))
    task.cancel()
    #expect(await task.value == .cancelled)
  }

  @Test func aCopy() async throws {
    let bench = try Bench()
    let (copier, row) = (DiskWorker("test"), try sparse("big", 64 << 20))
    let file = FileDownload(try bench.plan(known: KnownVersion(row, isSelected: true)))
    _ = try file.nextTransfer()
    let code = await cancelled(copier) { () throws(DownloadError) in try await copier.fill(file, from: row) }
    // A file system that shares blocks has nothing to cancel.
    if code != nil { #expect(code == .cancelled) }
    try file.abandon()
    #expect(try bench.folder.names() == [])
  }

  @Test func aProof() async throws {
    let bench = try Bench()
    let copier = DiskWorker("test")
    let (file, expected) = (try Self.whole(bench), try #require(Self.expected))
    let code = await cancelled(copier) { () throws(DownloadError) in
      try await copier.verdict(on: file, expected)
    }
    #expect(code == .cancelled)
  }

  @Test func aComparisonWithWhatStandsThere() async throws {
    let bench = try Bench()
    try bench.folder.write(pattern(2 << 20), to: "x")
    let copier = DiskWorker("test")
    let file = try Self.whole(try bench.laterProcess())
    let code = await cancelled(copier) { () throws(DownloadError) in
      try await copier.adopt(for: Commit(file, proof: .length), FileOwners())
    }
    #expect(code == .cancelled)
    // What came is worth a whole file: it is kept.
    try file.abandon()
    #expect(try bench.folder.names() == ["x", "x.part", "x.part.json"])
  }

  /// All of it fetched, some of it by an earlier run: its checksum is read from the disk.
  private static func whole(_ bench: Bench) throws -> FileDownload {
    let body = pattern(2 << 20)
    let file = FileDownload(
      try bench.plan(checksum: Self.expected))
    _ = try file.ended(try FakeAnswer.ok(body).give(to: file).1)
    return file
  }
}
