import DownloadModel
import Glibc
import SystemPackage

extension PartialTransfer {
  /// Takes the content from this address's intact file in another folder, which the server has just vouched
  /// for. Blocks for as long as the disk needs.
  /// - Returns: false if the source is not, or is no longer, the row's file.
  mutating func fill(from source: CacheRow) throws(DownloadError) -> Bool {
    guard !isEnded else { throw .cancelled }
    try giveUpPart()
    held = HeldPart(
      validator: source.validator, total: source.identity.size, answeredBy: source.answeredBy)
    if order.usesContentDisposition, source.key.requested.isEmpty { recordedName = source.wanted }
    if slot?.descriptor.isOpen == false { try slot?.open() }
    if slot?.isNamed == true {
      let record = record
      try slot?.show(record)
    }
    let size: Int64?
    do throws(Errno) { size = try slot?.descriptor.copy(source) } catch {
      throw order.directory.failure(error, "copying", finalName).at(order.address)
    }
    guard size == source.identity.size else { return false }
    held.length = source.identity.size
    order.meter.begin(at: held.length, total: held.length)
    return true
  }
}

extension Descriptor {
  /// Copies a finished file into this one.
  /// - Returns: its length; nil if it is not, or is no longer, the file of the row.
  /// - Throws: errno of reading or writing; ECANCELED when the task was cancelled.
  fileprivate func copy(_ source: CacheRow) throws(Errno) -> Int64? {
    let raw = Glibc.open(source.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    if raw < 0, errno == ENOENT || errno == ELOOP { return nil }
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    let file = Descriptor(raw)
    guard try file.identity() == source.identity else { return nil }
    var offset: Int64 = 0
    // FICLONE (ioctl_ficlone(2)): shares the blocks where the file system can, and copies nothing.
    if ioctl(self.raw, 0x4004_9409, file.raw) == 0 {
      offset = source.identity.size
    } else {
      while offset < source.identity.size {
        try Self.checkCancellation()
        let bytes = try file.read(Self.blockLength, at: offset)
        if bytes.isEmpty { return nil }
        try write(bytes, at: &offset)
      }
    }
    return try file.identity() == source.identity ? offset : nil
  }
}
