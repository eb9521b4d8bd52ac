import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// Answers from memory, then from the disk. Equal requests wait for one load.
actor PictureLoader {
  /// A file in one state.
  private struct Key: Hashable {
    var path: String
    var changed: Int64
  }

  private var kept: [Key: [UInt8]] = [:]
  private var keptBytes = 0
  private var loading: [Key: Task<[UInt8], Never>] = [:]
  private let disk = Disk()
  /// Larger pictures are not shown.
  private static let longest = 16 << 20
  private static let most = 64 << 20

  /// Reads on a thread of its own.
  private actor Disk {
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let thread = BlockingExecutor(label: "dlm.pictures")

    /// - Returns: empty for a file that cannot be read.
    func bytes(of path: String, upTo limit: Int) -> [UInt8] {
      let file = FilePath(path)
      guard let name = file.lastComponent?.string, let folder = try? Folder(standing: file.removingLastComponent()),
        let opened = try? folder.open(name, O_RDONLY)
      else { return [] }
      return (try? opened.read(limit)) ?? []
    }
  }

  func answer(_ path: String) async throws(Refused) -> PageAnswer {
    let bytes = await bytes(of: path)
    guard let type = Self.mediaType(bytes) else {
      throw Refused("not a picture, or one of more than 16 MiB", status: 415)
    }
    return PageAnswer(bytes, type: type)
  }

  private func bytes(of path: String) async -> [UInt8] {
    guard let file = StandingFile.of(path: path), file.identity.size <= Self.longest else { return [] }
    let key = Key(path: path, changed: file.changed)
    if let bytes = kept[key] { return bytes }
    if let task = loading[key] { return await task.value }
    // Unstructured, because it belongs to all requests for the picture, and not to the first of them.
    let task = Task { await disk.bytes(of: path, upTo: Self.longest) }
    loading[key] = task
    let bytes = await task.value
    loading[key] = nil
    keep(bytes, as: key)
    return bytes
  }

  private func keep(_ bytes: [UInt8], as key: Key) {
    // A page asks for each picture once, so which ones are dropped hardly matters.
    if keptBytes + bytes.count > Self.most {
      kept = [:]
      keptBytes = 0
    }
    kept[key] = bytes
    keptBytes += bytes.count
  }

  /// By the first bytes: a browser must not take a page for a picture.
  static func mediaType(_ bytes: [UInt8]) -> String? {
    let start = bytes.prefix(12)
    if start.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
    if start.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
    if start.starts(with: "GIF8".utf8) { return "image/gif" }
    if start.starts(with: "RIFF".utf8), start.dropFirst(8).elementsEqual("WEBP".utf8) { return "image/webp" }
    return start.dropFirst(4).elementsEqual("ftypavif".utf8) ? "image/avif" : nil
  }
}
