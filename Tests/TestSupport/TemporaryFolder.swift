import Foundation
import Glibc

/// A folder of the test's own, removed with everything in it when the object goes.
public final class TemporaryFolder: Sendable {
  /// Absolute, without symbolic links and without a slash at its end.
  public let path: String

  /// - Throws: when the system's temporary folder cannot be written.
  public init() throws(SupportFailure) {
    let parent = URL(filePath: NSTemporaryDirectory()).resolvingSymlinksInPath().path
    var template = Array("\(parent)/dlm-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw .systemCall("mkdtemp in \(parent)", errno: errno) }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit {
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      // A test may have removed it itself; what remains is worth a line, not a failure.
      guard FileManager.default.fileExists(atPath: path) else { return }
      FileHandle.standardError.write(Data("cannot remove \(path): \(error)\n".utf8))
    }
  }

  public func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file, making the folders on its way.
  /// - Returns: its absolute path.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) throws -> String {
    let file = path(name)
    let folder = URL(filePath: file).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: file))
    return file
  }

  public func read(_ name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: path(name))))
  }

  /// The names directly in the folder, or in one of its folders, sorted.
  public func names(in subfolder: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(subfolder)).sorted()
  }
}
