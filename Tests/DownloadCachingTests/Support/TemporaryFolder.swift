import Glibc
import SystemPackage

@testable import DownloadCaching

/// A folder on the real disk that goes away with its last user.
final class TemporaryFolder: Sendable {
  let path: FilePath

  init() throws {
    var template = Array("/var/tmp/dlm-tests-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
    path = FilePath(String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  deinit { Self.remove(path.string) }

  func sub(_ name: String) -> FilePath { path.appending(name) }

  /// Sorted names of a folder in it, or of itself.
  func names(_ sub: String = "") throws -> [String] {
    try Folder(sub.isEmpty ? path : path.appending(sub), mode: 0o700).names().sorted()
  }

  func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

  func write(_ bytes: [UInt8], to name: String) throws {
    let raw = open(path.appending(name).string, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    let file = Descriptor(raw)
    var offset: Int64 = 0
    try file.write(bytes, at: &offset)
  }

  func bytes(_ name: String) throws -> [UInt8] {
    let raw = open(path.appending(name).string, O_RDONLY)
    guard raw >= 0 else { throw Errno(rawValue: errno) }
    let file = Descriptor(raw)
    return try file.read(Int(file.identity().size))
  }

  func text(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

  func link(_ name: String, to target: String) throws {
    guard symlink(target, path.appending(name).string) == 0 else { throw Errno(rawValue: errno) }
  }

  func hardLink(_ name: String, as other: String) throws {
    guard Glibc.link(path.appending(name).string, path.appending(other).string) == 0 else {
      throw Errno(rawValue: errno)
    }
  }

  func makeFolder(_ name: String) throws {
    guard mkdir(path.appending(name).string, 0o755) == 0 else { throw Errno(rawValue: errno) }
  }

  func remove(_ name: String) throws {
    guard unlink(path.appending(name).string) == 0 else { throw Errno(rawValue: errno) }
  }

  private static func remove(_ path: String) {
    if unlink(path) == 0 { return }
    if let folder = try? Folder(FilePath(path), mode: 0o700), let names = try? folder.names() {
      for name in names { remove(path + "/" + name) }
    }
    rmdir(path)
  }
}
