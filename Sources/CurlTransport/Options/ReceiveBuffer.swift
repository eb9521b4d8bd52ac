import DownloadModel

/// The size of one read from a socket (CURLOPT_BUFFERSIZE). A large buffer saves system calls, but costs memory and a
/// slower allocation, so only the few transfers with large bodies get one.
enum ReceiveBuffer {
  /// The most bytes of one write callback, and the smallest buffer of a shared connection.
  static let least = 16 * 1024
  static let most = 512 * 1024
  /// Enough for a small file with its head.
  static let small = 32 * 1024
  /// For all transfers of a loop together, unless there are so many that the minimum for each exceeds it.
  static let budget = 2 * 1024 * 1024
  /// For a transfer among thousands that has its own connection.
  static let scant = 2 * 1024

  /// - Parameter running: the transfers of the loop, this one included.
  /// - Parameter isShared: whether others may use the same connection: a full stream blocks it.
  /// - Returns: bytes. There are few different sizes, so that allocations are reused.
  static func size(running: Int, lastBody: Int64?, scheme: Address.Scheme, isShared: Bool = false) -> Int {
    var size = lastBody.map { $0 < small } == true ? small : most
    while size > (isShared ? least : scant), size * running > budget { size /= 2 }
    if size > least { return size }
    // libcurl allocates one byte more than requested, and an allocator rounds up: here to a power of two, or a quarter
    // more for a whole TLS record (16 KiB). For a large buffer that is not worth the uneven pieces.
    return (scheme == .https ? size * 5 / 4 : size) - 1
  }

  /// The bytes that the kernel should buffer for a connection from the start, so that a fast server need not wait for
  /// each read; `nil` if the kernel's default, which starts at 128 KiB and grows with reading, suffices.
  static func room(for size: Int, bodyOf length: Int64?) -> Int32? {
    size > small * 2 && length ?? 0 >= 16 << 20 ? Int32(size * 4) : nil
  }
}
