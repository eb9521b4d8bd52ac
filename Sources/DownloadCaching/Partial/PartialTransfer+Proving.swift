import DownloadModel
import Glibc
import SystemPackage

extension PartialTransfer {
  /// Looks for the checksum that the file must have.
  /// - Returns: false if one is required and there is none: then no byte of the body is worth its way.
  mutating func expect(_ head: ResponseHead) -> Bool {
    guard let expected = expectedDigest(head) else {
      proving = nil
      guard order.requiredProof == .digest else { return true }
      answer = .rejected(
        DownloadError(.unproven, cause: .detail("no checksum is known for it"), activity: "proving").at(
          order.address))
      return false
    }
    // A part that this very run wrote has been hashed already.
    if proving?.expected != expected { proving = Proving(expected) }
    return true
  }

  /// The checksum to meet. A server's own is that of the coded bytes (RFC 9530 §3), of which none are left where they were
  /// decoded.
  private func expectedDigest(_ head: ResponseHead?) -> ContentDigest? {
    order.expectedDigest(named: finalName, held.isDecoded ? nil : head)
  }

  func digestVerdict() -> DigestVerdict {
    guard let proving else {
      // Looked for when the body began.
      if case .body = answer { return .none }
      return expectedDigest(head) == nil ? .none : .unread
    }
    guard let found = proving.digest(of: held.length) else { return .unread }
    return DigestVerdict(expected: proving.expected, found: found)
  }

  /// Blocks for as long as the disk needs.
  mutating func digestVerdictByReading() throws(DownloadError) -> DigestVerdict {
    guard let expected = expectedDigest(head) else { return .none }
    let found: ContentDigest?
    do throws(Errno) { found = try slot?.descriptor.digest(expected.algorithm) } catch {
      throw order.directory.failure(error, "reading", slot?.names.part ?? finalName).at(order.address)
    }
    guard let found else { throw .cancelled }
    proving = Proving(expected)
    return DigestVerdict(expected: expected, found: found)
  }

  /// Makes the bytes durable, before a name says that they are there. Blocks.
  mutating func sync() throws(DownloadError) {
    do throws(Errno) { try slot?.descriptor.sync() } catch {
      throw order.directory.failure(error, "syncing", slot?.names.part ?? finalName).at(order.address)
    }
  }

  mutating func startAfresh() throws(DownloadError) {
    guard !isEnded else { throw .cancelled }
    try giveUpPart()
    asksAfresh = true
    // A part that is not whole must not be taken for one: its record said what is no longer there.
    if slot?.isNamed == true {
      let record = record
      try slot?.show(record)
    }
  }

  mutating func forgetKnown() throws(DownloadError) {
    guard !isEnded else { throw .cancelled }
    try giveUpPart()
    ignoresKnown = true
  }

  mutating func setAside() throws(DownloadError) -> String {
    guard !isEnded else { throw .cancelled }
    var number = 0
    while true {
      let name = finalName + (number == 0 ? ".rejected" : ".rejected.\(number)")
      if try slot?.place(as: name, replacing: false) ?? true {
        isEnded = true
        return order.directory.path(of: name)
      }
      number += 1
    }
  }
}

extension Descriptor {
  /// The digest of the whole file.
  /// - Throws: errno of reading; ECANCELED when the task was cancelled.
  func digest(_ algorithm: ContentDigest.Algorithm) throws(Errno) -> ContentDigest? {
    var hasher = ContentHasher(algorithm)
    var offset: Int64 = 0
    while true {
      try Self.checkCancellation()
      let bytes = try read(Self.blockLength, at: offset)
      if bytes.isEmpty { return hasher.finish() }
      bytes.withUnsafeBytes { hasher.update($0) }
      offset += Int64(bytes.count)
    }
  }

  /// - Returns: nil if it is not, or is no longer, the file of the row.
  static func digest(of row: CacheRow, _ algorithm: ContentDigest.Algorithm) throws(Errno) -> ContentDigest? {
    let raw = Glibc.open(row.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    if raw < 0, errno == ENOENT || errno == ELOOP { return nil }
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    let file = Descriptor(raw)
    guard try file.identity() == row.identity, let digest = try file.digest(algorithm) else { return nil }
    return try file.identity() == row.identity ? digest : nil
  }
}
