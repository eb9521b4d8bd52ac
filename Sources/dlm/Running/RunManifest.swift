import Crypto
import DownloadModel
import Glibc
import StrategyComparing
import SystemPackage

/// What a run brought, as requests with the SHA-256 digests of their files.
enum RunManifest {
  /// Reads every byte, on the cooperative pool: it is no part of what is measured.
  /// - Throws: `.disk` with the path that cannot be read; `.cancelled`.
  @concurrent
  static func read(_ files: [FetchedFiles.File]) async throws(DownloadError) -> ContentManifest {
    // Equal addresses of a list are one file.
    var digests: [String: String] = [:]
    var entries: [ContentManifest.File] = []
    entries.reserveCapacity(files.count)
    for file in files {
      let known = digests[file.path]
      let digest: String
      // Not by `??`, whose autoclosure would throw any error.
      if let known { digest = known } else { digest = try Self.digest(of: file.path) }
      digests[file.path] = digest
      entries.append(
        ContentManifest.File(id: file.request.id, address: file.request.address.key, digest: digest))
    }
    return ContentManifest(files: entries)
  }

  static func digest(of manifest: ContentManifest) -> String {
    var hash = SHA256()
    for file in manifest.files { hash.update(data: Array("\(file.id)\0\(file.digest)\n".utf8)) }
    return hex(hash.finalize())
  }

  private static func digest(of path: String) throws(DownloadError) -> String {
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec])
      return try file.closeAfter {
        var hash = SHA256()
        var block = [UInt8](repeating: 0, count: 256 * 1024)
        while true {
          if Task.isCancelled { throw DownloadError.cancelled }
          let count = try block.withUnsafeMutableBytes { try file.read(into: $0, retryOnInterrupt: true) }
          if count == 0 { return hex(hash.finalize()) }
          block.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
      }
    } catch {
      if let error = error as? DownloadError { throw error }
      throw DownloadError(
        .disk, cause: .errno((error as? Errno)?.rawValue ?? EIO), path: path,
        activity: "reading what was downloaded")
    }
  }

  private static func hex(_ digest: some Sequence<UInt8>) -> String {
    digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
