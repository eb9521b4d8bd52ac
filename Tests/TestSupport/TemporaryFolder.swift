import Foundation
import Glibc

/// A folder of the test's own, removed with everything in it when the object goes.
package final class TemporaryFolder: Sendable {
  /// Absolute, without symbolic links and without a slash at its end.
  package let path: String

  /// - Parameter parent: where it is made; nil for the system's temporary folder.
  /// - Throws: when that cannot be written.
  package init(in parent: String? = nil) throws(SupportFailure) {
    let parent = URL(filePath: parent ?? NSTemporaryDirectory()).resolvingSymlinksInPath().path
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

  package func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file, making the folders on its way.
  /// - Returns: its absolute path.
  @discardableResult
  package func write(_ bytes: [UInt8], to name: String) throws -> String {
    let file = path(name)
    let folder = URL(filePath: file).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: file))
    return file
  }

  package func read(_ name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(filePath: path(name))))
  }

  /// The names directly in the folder, or in one of its folders, sorted.
  package func names(in subfolder: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(subfolder)).sorted()
  }

  package func write(_ text: String, to name: String) throws { try write(Array(text.utf8), to: name) }

  package func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }

  /// Makes a folder in it.
  package func makeFolder(_ name: String) throws(SupportFailure) {
    if mkdir(path(name), 0o755) != 0 { throw .systemCall("mkdir \(name)", errno: errno) }
  }

  /// Makes a symbolic link in it.
  /// - Parameter target: as it will be read: relative to the link's folder, or absolute.
  package func link(_ name: String, to target: String) throws(SupportFailure) {
    if symlink(target, path(name)) != 0 { throw .systemCall("symlink \(name)", errno: errno) }
  }

  package func hardLink(_ name: String, as other: String) throws(SupportFailure) {
    if Glibc.link(path(name), path(other)) != 0 { throw .systemCall("link \(name)", errno: errno) }
  }

  /// Removes a file, not a folder.
  package func remove(_ name: String) throws(SupportFailure) {
    if unlink(path(name)) != 0 { throw .systemCall("unlink \(name)", errno: errno) }
  }
}
