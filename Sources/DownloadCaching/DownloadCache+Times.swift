import DownloadModel
import Glibc
import SystemPackage

extension DownloadCache {
  /// Gives a file that dlm knows its server's time (`--remote-time`), where it has another one: from a run without that
  /// option, or because the server's has moved while the bytes stayed.
  /// - Parameter head: of the answer that vouched for the file.
  /// - Returns: the row of the file as it is now.
  func stamped(_ row: CacheRow, _ head: ResponseHead?) -> CacheRow {
    guard configuration.usesRemoteTime, !configuration.fields.forbidsStoring,
      let seconds = RemoteTime.seconds(
        head?["last-modified"] ?? row.validator.lastModified, now: configuration.now())
    else { return row }
    var stamped = row
    stamped.identity.modified = seconds * 1_000_000_000
    guard stamped.identity != row.identity else { return row }
    // Before the file changes: else dlm, killed in between, would take it for touched by somebody else.
    journal(stamped)
    do throws(Errno) {
      guard let identity = try Descriptor.stamp(row, seconds) else { return row }
      stamped.identity = identity
    } catch {
      warn(CacheWarning(.unusable, path: FilePath(row.path), detail: "its time cannot be set: \(error)"))
      return row
    }
    batch.add(selected(stamped))
    return stamped
  }
}

extension Descriptor {
  /// Sets the time of the last change. A file system that lets nobody set it leaves it as it is.
  /// - Parameter seconds: since 1970.
  func setModified(_ seconds: Int64) throws(Errno) {
    // UTIME_OMIT (utimensat(2)): when it was last read is not ours to say.
    let times = [timespec(tv_sec: 0, tv_nsec: 0x3FFF_FFFE), timespec(tv_sec: Int(seconds), tv_nsec: 0)]
    guard futimens(raw, times) == 0 || errno == EPERM || errno == EOPNOTSUPP || errno == EOVERFLOW else {
      throw Errno(rawValue: errno)
    }
  }

  /// - Returns: the file as it is then; nil if it is not, or is no longer, the file of the row.
  fileprivate static func stamp(_ row: CacheRow, _ seconds: Int64) throws(Errno) -> FileIdentity? {
    let raw = Glibc.open(row.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    if raw < 0, errno == ENOENT || errno == ELOOP { return nil }
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    let file = Descriptor(raw)
    guard try file.identity() == row.identity else { return nil }
    try file.setModified(seconds)
    return try file.identity()
  }
}
