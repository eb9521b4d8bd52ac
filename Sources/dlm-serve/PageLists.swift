import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// The lists that were given to the page, in files, so that their runs can be resumed.
struct PageLists: Sendable {
  private let path: FilePath
  /// As long as a run stays in the records. In nanoseconds.
  private static let longest: Int64 = 30 * 24 * 3600 * 1_000_000_000

  init(below state: FilePath) { path = state.appending("lists") }

  /// - Parameter name: whose ending tells the format; any text.
  /// - Returns: the path of the file.
  func keep(_ text: String, named name: String?) throws(Refused) -> String {
    guard text.contains("://") else { throw Refused("there is no URL in it (https://…)") }
    // A list says what to download from elsewhere; this machine's own files are no part of that.
    guard !text.contains(/(?i)\bfile:/) else { throw Refused("file: URLs are not taken here") }
    let file = Self.fileName(for: name)
    do {
      let folder = try Folder(own: path)
      try removeOld(from: folder)
      let made = try folder.open(file, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      try made.write(Array(text.utf8))
    } catch { throw Refused("\(path): \(error)", status: 500) }
    return path.appending(file).string
  }

  /// What remains of the name, made unique: `list-1k9x3v.meta4`
  static func fileName(for name: String?) -> String {
    let given = FilePath(name ?? "").lastComponent
    func plain(_ text: String?, orElse other: String) -> String {
      let letters = (text ?? "").filter { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }.prefix(40)
      return letters.isEmpty ? other : String(letters)
    }
    let unique = String(UInt32.random(in: .min ... .max), radix: 36)
    return "\(plain(given?.stem, orElse: "pasted"))-\(unique).\(plain(given?.extension, orElse: "txt"))"
  }

  private func removeOld(from folder: Folder) throws(Errno) {
    let oldest = WallClock.milliseconds() * 1_000_000 - Self.longest
    for name in try folder.names() {
      if let file = try folder.standing(name), file.identity.modified < oldest { try folder.remove(name) }
    }
  }
}
