/// How much one read from a socket may bring (CURLOPT_BUFFERSIZE).
///
/// Each transfer has a buffer of its own while it runs. A large one spares system calls (512 KiB instead of 48 KiB takes
/// a fifth of the processor's time off large files on loopback), but it costs memory and a longer way to the
/// allocator, so it is for the few that bring much.
enum ReceiveBuffer {
  /// What the write callback gets at a time.
  static let least = 16 * 1024
  /// libcurl 7.88 takes no more.
  static let most = 512 * 1024
  /// Enough for a small file with its head.
  static let small = 32 * 1024
  /// Of all transfers of a loop together, unless they are so many that the least for each is more.
  static let budget = 2 * 1024 * 1024

  /// - Parameters:
  ///   - running: the transfers of the loop, this one included.
  ///   - lastBody: the length of the last body that this handle received, which the next is assumed to be like; nil at
  ///     first.
  /// - Returns: bytes. Few different numbers, so that allocations are used again.
  static func size(running: Int, lastBody: Int64?) -> Int {
    var size = lastBody.map { $0 < small } == true ? small : most
    while size > least, size * running > budget { size /= 2 }
    return size
  }
}
