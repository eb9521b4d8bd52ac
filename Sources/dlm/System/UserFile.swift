import ArgumentParser
import FileReceiving
import FoundationEssentials
import Glibc
import SystemPackage

/// For files that determine which servers dlm trusts, or with which login it connects.
enum UserFile {
  enum Refusal: Error {
    case system(Errno)
    case distrusted(Distrust)
    case longer(than: Int)
  }

  /// Checks and reads the same descriptor, so that no other file can replace it in between.
  /// - Parameters:
  ///   - behindLink: whether the path may be a link; its target is checked alike.
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
