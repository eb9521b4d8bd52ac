import Crypto
import DownloadModel
import Foundation
import StrategyComparing
import SystemPackage

/// Names and SHA-256 digests of the files in a folder.
enum FolderManifest {
  /// Reads every byte, on the cooperative pool: it is no part of what is measured.
  @concurrent
  static func read(_ folder: FilePath) async throws(DownloadError) -> ContentManifest {
    do {
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.string)
      return ContentManifest(
        files: try names.map { name in
          ContentManifest.File(
            name: name, digest: try digest(of: folder.appending(FilePath(name).components)))
        })
    } catch {
      throw DownloadError(
        .disk, cause: .detail("\(error)"), path: folder.string, activity: "reading what was downloaded")
    }
  }

  static func digest(of manifest: ContentManifest) -> String {
    var hash = SHA256()
    for file in manifest.files { hash.update(data: Array("\(file.name)\0\(file.digest)\n".utf8)) }
    return hex(hash.finalize())
  }

  private static func digest(of path: FilePath) throws -> String {
    let file = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec])
    return try file.closeAfter {
      var hash = SHA256()
      var block = [UInt8](repeating: 0, count: 256 * 1024)
      while true {
        let count = try block.withUnsafeMutableBytes { try file.read(into: $0, retryOnInterrupt: true) }
        if count == 0 { return hex(hash.finalize()) }
        block.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      }
    }
  }

  private static func hex(_ digest: some Sequence<UInt8>) -> String {
    digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
