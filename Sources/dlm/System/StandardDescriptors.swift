import FoundationEssentials
import Glibc

/// Descriptors 0 to 2, which a caller may have closed.
enum StandardDescriptors {
  /// Opens /dev/null for each closed one; otherwise messages would be written into the file or connection that gets the
  /// number. Input is opened for writing and output for reading, so that using them still fails (EBADF).
  static func claim() {
    for (descriptor, flags) in [
      (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY),
    ] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // The kernel assigns the lowest free number, which is this one. A failure leaves it closed.
      _ = open("/dev/null", flags)
    }
  }
}
