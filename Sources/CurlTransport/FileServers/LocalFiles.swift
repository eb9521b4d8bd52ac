import DownloadModel
import Glibc

/// Reads files of this machine (`file:`) on a thread that may wait for the disk. libcurl would read the whole file in
/// one call, which nothing can pause or cancel.
actor LocalFiles {
  private nonisolated let executor = BlockingExecutor(label: "local-files")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// An open file, and what it is.
  struct File {
    fileprivate let descriptor: Int32
    let answer: FileServerAnswer
  }

  static let pieceLength = 256 * 1024

  /// - Parameter start: the offset that the transfer asks for.
  func open(_ path: String, from start: Int64?) throws(DownloadError) -> File {
    // A pipe would block, and a device might not end.
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0 else { throw Self.failure(String(cString: strerror(errno))) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw Self.failure("it is not a regular file")
    }
    let answer = FileServerAnswer(size: Int64(status.st_size), modified: Int64(status.st_mtim.tv_sec), start: start)
    return File(descriptor: descriptor, answer: answer)
  }

  private static func failure(_ why: String) -> DownloadError { DownloadError(.status, why, "opening") }

  /// - Returns: at most so many bytes; none at the file's end.
  func read(_ count: Int, of file: File, at offset: Int64) throws(DownloadError) -> [UInt8] {
    var failure: Int32?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let result = pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      if result < 0 { failure = errno }
      filled = max(0, result)
    }
    if let failure { throw DownloadError(.transport, cause: .errno(failure), activity: "reading", isTransient: true) }
    return bytes
  }

  func close(_ file: File) { close(file.descriptor) }

  private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}
