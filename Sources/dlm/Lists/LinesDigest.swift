import DownloadModel

/// A digest of a list's lines: equal for equal lines in equal order.
struct LinesDigest: ~Copyable {
  private(set) var count = 0
  private var hasher = ContentHasher(.sha256)
  /// Hashed together, because a call costs more than the bytes.
  private var bytes: [UInt8] = []

  mutating func add(_ line: String) {
    count += 1
    bytes += line.utf8
    bytes.append(0x0A)
    if bytes.count >= 8192 { update() }
  }

  private mutating func update() {
    hasher.update(bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  mutating func text() -> String {
    update()
    return String(hasher.finish().hex.prefix(32))
  }
}
