import CCurl
import DownloadModel
import Synchronization

/// How much one read from a socket may bring (CURLOPT_BUFFERSIZE). A large buffer saves system calls, but costs memory
/// and a slower allocation, so only the few transfers that bring much get one.
enum ReceiveBuffer {
  /// How much the write callback gets at a time, and a stream's least.
  static let least = 16 * 1024
  static let most = 512 * 1024
  /// Enough for a small file with its head.
  static let small = 32 * 1024
  /// For all transfers of a loop together, unless there are so many that the least for each is more.
  static let budget = 2 * 1024 * 1024
  /// For a transfer among thousands, which has its connection for itself.
  static let scant = 2 * 1024

  /// - Parameter running: the transfers of the loop, this one included.
  /// - Parameter isShared: whether others may use the same connection: a stream that is full holds it up.
  /// - Returns: bytes. There are few different sizes, so that allocations are reused.
  static func size(running: Int, lastBody: Int64?, scheme: Address.Scheme, isShared: Bool = false) -> Int {
    var size = lastBody.map { $0 < small } == true ? small : most
    while size > (isShared ? least : scant), size * running > budget { size /= 2 }
    if size > least { return size }
    // libcurl allocates one byte more than it is told, and an allocator rounds up: here to a power of two, or a quarter
    // more for a whole record of TLS (16 KiB). For a large buffer that is not worth the uneven pieces.
    return (scheme == .https ? size * 5 / 4 : size) - 1
  }

  /// How much the kernel shall at once take for a connection, so that a fast server need not wait for each read; nil
  /// where its own measure, which begins with 128 KiB and grows with what is read, suffices.
  static func room(for size: Int, bodyOf length: Int64?) -> Int32? {
    size > small * 2 && length ?? 0 >= 16 << 20 ? Int32(size * 4) : nil
  }
}
