package import DownloadModel
import SystemPackage

/// Checks the server's type and the file's first bytes.
extension ExpectedTypes {
  /// Types that servers send for files of unknown type.
  private static let generic: Set = ["", "application/octet-stream", "binary/octet-stream"]

  /// - Throws: `.wrongType` if the answer has another type.
  func check(_ head: ResponseHead) throws(DownloadError) {
    let type = Self.name(head["content-type"] ?? "")
    if !Self.generic.contains(type), !allow(type) { throw error(type) }
  }

  /// - Throws: `.wrongType` if the first bytes belong to another type. Discards the file before that.
  package func check(_ download: FileDownload) throws(DownloadError) {
    try download.access { receiver throws(DownloadError) in
      guard let type = other(try receiver.part.read(512, at: 0)) else { return }
      try receiver.discard()
      throw error(type)
    }
  }

  /// Whether the first bytes of an existing file may belong to an expected type.
  package func allows(_ row: CacheRow) throws(DownloadError) -> Bool {
    do {
      guard let file = try Descriptor.open(row) else { return false }
      return other(try file.read(512)) == nil
    } catch { throw DownloadError(.disk, error, row.path, "reading") }
  }

  private func error(_ type: String) -> DownloadError {
    DownloadError(.wrongType, "expected \(self), got \(type)", "checking the type")
  }

  /// - Returns: the type that the first bytes belong to; `nil` if it may be an expected one.
  func other(_ bytes: [UInt8]) -> String? {
    if bytes.isEmpty { return "an empty file" }
    let start = bytes.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }.prefix(32)
    let text = start.map { $0 < 0x80 ? $0 | 0x20 : $0 }
    if let known = Self.magic.first(where: { text.dropFirst($0.offset).starts(with: $0.mark) })?.type {
      // Many formats are archives inside.
      let isArchive = known.hasSuffix("zip") && types.contains { $0.hasPrefix("application/") && !Self.tells($0) }
      return allow(known) || isArchive ? nil : known
    }
    return types.allSatisfy(Self.tells) ? "something else" : nil
  }

  /// Whether all files of a type start alike.
  private static func tells(_ type: String) -> Bool { type != "text/html" && magic.contains { $0.type == type } }

  /// Each ASCII byte has the bit 0x20, as in lower case. Leading blanks and control characters are not compared.
  private static let magic: [(type: String, offset: Int, mark: [UInt8])] = [
    ("image/png", 0, [0x89] + "png".utf8), ("image/jpeg", 0, [0xFF, 0xD8, 0xFF]), ("image/gif", 0, Array("gif8".utf8)),
    ("image/webp", 8, Array("webp".utf8)), ("application/pdf", 0, Array("%pdf-".utf8)),
    ("application/zip", 0, Array("pk#$".utf8)), ("application/gzip", 0, [0x8B, 0x28]),
    ("text/html", 0, Array("<!doctype html".utf8)), ("text/html", 0, Array("<html".utf8)),
  ]
}
