/// Gathers the small pieces in which bytes arrive into blocks worth a system call: libcurl hands over 16 KiB at a
/// time at most, and file systems take long writes at half the price.
struct BlockBuffer: Sendable {
  /// Blocks end at multiples of this in the file. A SIGKILL costs one of them at most.
  static let length = 256 * 1024

  private var bytes: [UInt8] = []

  /// How many bytes wait.
  var count: Int { bytes.count }

  /// Takes as much as fits before the block's end.
  /// - Parameter offset: where in the file the piece belongs: behind what waits already.
  /// - Returns: how many bytes were taken.
  mutating func take(_ piece: UnsafeRawBufferPointer, at offset: Int64) -> Int {
    let taken = min(Self.length - Int(offset % Int64(Self.length)), piece.count)
    if bytes.isEmpty { bytes.reserveCapacity(Self.length) }
    bytes.append(contentsOf: piece.prefix(taken))
    return taken
  }

  /// Whether a block ends at this offset.
  static func ends(at offset: Int64) -> Bool { offset % Int64(length) == 0 }

  /// Hands over what waits, in place, and is empty then; also after a failure.
  mutating func drain<Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    defer { bytes.removeAll(keepingCapacity: true) }
    // Typed throws and `rethrows` closures do not mix: the failure is carried out by hand.
    var failure: Failure?
    bytes.withUnsafeBytes { waiting in
      do throws(Failure) { try body(waiting) } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
