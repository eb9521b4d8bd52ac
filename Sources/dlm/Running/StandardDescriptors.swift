import Glibc

/// Descriptors 0 to 2, which a caller may have closed.
enum StandardDescriptors {
  /// Opens /dev/null where nothing is open: else the first file or connection would get the number, and progress or a
  /// message would be written into it. To be called before anything else opens a descriptor.
  ///
  /// Input is opened for writing and output for reading, so that whoever wants to read a list there, or to write data,
  /// fails with "Bad file descriptor" as it would have without, and does not take silence for success. Messages to
  /// nobody are none's loss.
  static func claim() {
    for (descriptor, flags) in [
      (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY),
    ] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The kernel gives the lowest free number, which is this one. Without /dev/null there is nothing to be done.
      _ = open("/dev/null", flags)
    }
  }
}
