import ArgumentParser
import DownloadModel
import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage
import TerminalProgress

extension FileDescriptor {
  /// 64 KiB, as larger blocks read no faster.
  static var blockSize: Int { 64 * 1024 }

  /// One read(2): may give fewer bytes than asked for, and none at the end of the file.
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

  /// Of a regular file, at most a block more than the limit; nil for any other, and where it cannot be read. A pipe
  /// would be waited for.
  static func bytes(of path: FilePath, upTo limit: Int, _ more: OpenOptions = []) -> [UInt8]? {
    guard let file = try? open(path, .readOnly, options: [.closeOnExec, .nonBlocking, more]) else { return nil }
    return try? file.closeAfter { file.isRegularFile ? try file.bytes(upTo: limit) : nil }
  }

  /// Also to a descriptor that does not block. One that takes nothing for a second is given up once a signal ends the
  /// run.
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

  /// Its last part; empty for none.
  var name: String { lastComponent?.string ?? "" }

  /// Of what it leads to, links followed (S_IFREG and the like); nil where that cannot be examined.
  var fileType: mode_t? { typeOfFile(string) }
}

/// Outside the extension of `FilePath`, which has a `stat` of its own.
private func typeOfFile(_ path: String) -> mode_t? {
  var status = stat()
  return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
}

extension ContentDigest {
  /// Reads the whole file.
  /// - Throws: `DownloadError.cancelled` in a cancelled task; Errno.
  static func ofFile(_ path: String) throws -> ContentDigest {
    // Not blocking, in case the path is a pipe.
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
  /// Without what is blank at both ends.
  func trimmed(_ isBlank: (Element) -> Bool) -> SubSequence {
    guard let start = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return prefix(0)
    }
    return self[start...last]
  }
}

extension Character {
  /// Whether it ends a line of a file. U+2028 and its like, newlines to Swift too, stand within lines.
  var endsLine: Bool { self == "\n" || self == "\r\n" || self == "\r" }
}

extension FileManager {
  /// Empty where the folder cannot be read.
  func names(in folder: String) -> [String] { (try? contentsOfDirectory(atPath: folder)) ?? [] }
}

extension Errno {
  /// SystemPackage throws nothing else, although it does not declare so.
  init(_ error: any Error) { self = error as? Errno ?? .ioError }
}

extension DownloadError {
  /// What a disk did to a file, or another failure on the way to it.
  init(ofFile error: any Error, path: String? = nil, activity: String) {
    self =
      error as? DownloadError
      ?? DownloadError(.disk, cause: .errno(Errno(error).rawValue), path: path, activity: activity)
  }
}

/// For files that say whom dlm trusts, or as whom it logs in.
enum UserFile {
  enum Refusal: Error {
    case system(Errno)
    case distrusted(Distrust)
    case longer(than: Int)
  }

  /// Judges and reads the same descriptor, so that no other file can take its place in between.
  /// - Parameters:
  ///   - behindLink: whether the path may be a link; what is behind it is judged alike.
  ///   - orPipe: whether it may be a pipe, whose writer is waited for.
  static func bytes(
    _ path: String, upTo limit: Int, behindLink: Bool = true, trustsRoot: Bool = true, orPipe: Bool = false
  ) throws(Refusal) -> [UInt8] {
    let flags = (behindLink ? 0 : O_NOFOLLOW) | (orPipe ? 0 : O_NONBLOCK)
    let raw = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags)
    guard raw >= 0 else { throw .system(.last) }
    defer { close(raw) }
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw .system(.last) }
    let ownership = FileOwnership(status)
    if let why = Distrust(ownership, user: geteuid(), trustsRoot: trustsRoot, orPipe: orPipe) { throw .distrusted(why) }
    let bytes: [UInt8]
    do { bytes = try FileDescriptor(rawValue: raw).bytes(upTo: limit) } catch {
      throw .system(error)
    }
    if bytes.count > limit { throw .longer(than: limit) }
    return bytes
  }

  static func usable(
    _ path: String, upTo limit: Int, orPipe: Bool = false, _ message: (_ cause: String) -> String
  ) throws -> [UInt8] {
    do {
      return try bytes(path, upTo: limit, orPipe: orPipe)
    } catch { throw ValidationError(message(UsageMessages.cause(error))) }
  }
}

/// `$TMPDIR`, else `/tmp`: for data too large for memory that need not outlive the process.
enum TemporaryFolder {
  static func path(_ environment: [String: String]) -> String {
    environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  /// A file system in memory (shm_overview(7)), where it is mounted.
  static let inMemory = "/dev/shm"

  static var hasMemory: Bool { access(inMemory, W_OK | X_OK) == 0 }

  /// Its name is removed at once, so the file disappears with the process however that ends.
  static func unnamedFile(in folder: String, _ purpose: String) throws(Errno) -> FileDescriptor {
    // Not mkstemp(3), which leaves the file open in the programs that dlm starts.
    let path = "\(folder)/dlm-\(purpose)-\(UInt64.random(in: 0...UInt64.max))"
    let raw = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw .last }
    _ = unlink(path)
    return FileDescriptor(rawValue: raw)
  }
}
