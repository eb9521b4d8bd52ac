import DownloadModel
import FoundationEssentials
import Glibc
import SystemPackage
import TerminalProgress

extension FileDescriptor {
  /// 64 KiB, because larger blocks are read no faster.
  static var blockSize: Int { 64 * 1024 }

  /// One read(2): may return fewer bytes than requested, and none at the end of the file.
  func block(_ size: Int = blockSize) throws(Errno) -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = try read(into: UnsafeMutableRawBufferPointer(buffer), retryOnInterrupt: true)
      }
    } catch { throw Errno(error) }
  }

  var isRegularFile: Bool {
    var status = Glibc.stat()
    return fstat(rawValue, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Reads to the end of the file, or until there are more bytes than the limit.
  func bytes(upTo limit: Int = .max) throws(Errno) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= limit, case let block = try block(), !block.isEmpty { bytes += block }
    return bytes
  }

  /// The bytes of a regular file, at most one block more than the limit; `nil` for any other, and if it cannot be read.
  /// Reading a pipe would block.
  static func bytes(of path: FilePath, upTo limit: Int, _ more: OpenOptions = []) -> [UInt8]? {
    guard let file = try? open(path, .readOnly, options: [.closeOnExec, .nonBlocking, more]) else { return nil }
    return try? file.closeAfter { file.isRegularFile ? try file.bytes(upTo: limit) : nil }
  }

  /// Also to a non-blocking descriptor. One that accepts nothing for a second is given up once a signal ends the run.
  func writeWhole(_ text: some Sequence<UInt8>) throws(Errno) {
    do {
      try TerminalOutput(descriptor: rawValue).write(Array(text)) { Signals.ending == nil }
    } catch { throw Errno(rawValue: error.errno) }
  }
}

extension FilePath {
  /// The folder of a file: `.` for a bare name.
  var folder: FilePath {
    let above = removingLastComponent()
    return above.isEmpty ? "." : above
  }

  /// Its last component; empty for none.
  var name: String { lastComponent?.string ?? "" }

  /// The type of the target, links followed (S_IFREG and the like); `nil` if it cannot be examined.
  var fileType: mode_t? { typeOfFile(string) }
}

/// Outside the extension of `FilePath`, which has its own `stat`.
private func typeOfFile(_ path: String) -> mode_t? {
  var status = stat()
  return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
}

extension ContentDigest {
  /// Reads the whole file.
  /// - Throws: `DownloadError.cancelled` in a cancelled task; Errno.
  static func ofFile(_ path: String) throws -> ContentDigest {
    // Non-blocking, in case the path is a pipe.
    let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
    return try file.closeAfter {
      var hasher = ContentHasher(.sha256)
      while true {
        if Task.isCancelled { throw DownloadError.cancelled }
        let block = try file.block(256 * 1024)
        if block.isEmpty { return hasher.finish() }
        hasher.update(block)
      }
    }
  }
}

extension BidirectionalCollection {
  /// Without blank elements at both ends.
  func trimmed(_ isBlank: (Element) -> Bool) -> SubSequence {
    guard let start = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return prefix(0)
    }
    return self[start...last]
  }
}

extension Character {
  /// Whether it ends a line of a file. U+2028 and similar characters, newlines to Swift too, may occur within lines.
  var endsLine: Bool { self == "\n" || self == "\r\n" || self == "\r" }
}

extension FileManager {
  /// Empty if the folder cannot be read.
  func names(in folder: String) -> [String] { (try? contentsOfDirectory(atPath: folder)) ?? [] }
}

extension Errno {
  /// SystemPackage throws only `Errno`, although it does not declare so.
  init(_ error: any Error) { self = error as? Errno ?? .ioError }
}

extension DownloadError {
  /// A disk error of a file, or another failure before it.
  init(ofFile error: any Error, path: String? = nil, activity: String) {
    self =
      error as? DownloadError
      ?? DownloadError(.disk, cause: .errno(Errno(error).rawValue), path: path, activity: activity)
  }
}
