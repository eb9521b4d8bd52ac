import DownloadModel
import Glibc
import SystemPackage
import TerminalProgress

/// The log of a detached run, in place of its standard output and error: two files of 4 MiB at most, the older one of
/// which is dropped for a new one.
struct RunLogFile: ProgressRenderer.Output {
  let path: String
  private static let most = 4 << 20
  private let output = TerminalOutput()

  init(_ path: String) { self.path = path }

  func open() throws(Errno) {
    let file = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw Errno(rawValue: errno) }
    dup2(file, STDOUT_FILENO)
    dup2(file, STDERR_FILENO)
    close(file)
  }

  func write(_ bytes: [UInt8]) throws(TerminalOutput.Lost) {
    var status = stat()
    if fstat(STDERR_FILENO, &status) == 0, status.st_size > Self.most, rename(path, path + ".1") == 0 {
      try? open()  // else the old one goes on
    }
    try output.write(bytes)
  }
}
