import ArgumentParser
import DownloadCaching
import Glibc
import SystemPackage

/// Reads the file of `--netrc-file` for what the cache must know of it: the transport looks each host up by itself.
enum NetrcFile {
  /// Logins are a page; a file of more is something else.
  private static let limit = 1 << 20

  /// - Throws: `ValidationError` naming file, cause and remedy.
  static func read(_ path: String) throws -> NetrcLogins {
    var status = stat()
    guard stat(path, &status) == 0 else { throw unreadable(path, String(cString: strerror(errno))) }
    // A pipe gives what it holds once, and a login is looked up for each connection.
    guard status.st_mode & S_IFMT == S_IFREG else { throw unreadable(path, "it is no regular file") }
    guard status.st_size <= limit else { throw unreadable(path, "it is longer than \(limit / 1024) KiB") }
    do throws(Errno) { return NetrcLogins(try bytes(path)) } catch { throw unreadable(path, "\(error)") }
  }

  private static func bytes(_ path: String) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 64 * 1024)
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      try file.closeAfter {
        while bytes.count <= limit {
          let count = try block.withUnsafeMutableBytes { try file.read(into: $0, retryOnInterrupt: true) }
          if count == 0 { return }
          bytes += block[..<count]
        }
      }
    } catch {
      throw (error as? Errno) ?? .ioError
    }
    return bytes
  }

  private static func unreadable(_ path: String, _ cause: String) -> ValidationError {
    ValidationError("--netrc-file \(path) cannot be used: \(cause). Name the file with the logins.")
  }
}
