import FileReceiving
import SystemPackage

/// The pictures that a run has put into its folder.
struct PictureFolder: Sendable {
  let path: String
  /// In milliseconds since 1970.
  let since: Int64

  private struct Picture {
    var path: String
    /// When it got its name, in nanoseconds since 1970.
    var changed: Int64
  }

  private static let most = 1000
  private static let deepest = 4
  private static let endings: Set = ["png", "jpg", "jpeg", "gif", "webp", "avif"]

  static func isPicture(_ name: String) -> Bool {
    FilePath(name).extension.map { endings.contains($0.lowercased()) } == true && !name.hasPrefix(".")
  }

  /// Relative to the folder; the first come first.
  func all() throws(Refused) -> [String] {
    var found: [Picture] = []
    do { try add(from: Folder(standing: FilePath(path)), below: "", depth: 0, to: &found) } catch {
      throw Refused("\(path): \(error)", status: 404)
    }
    return found.sorted { ($0.changed, $0.path) < ($1.changed, $1.path) }.map(\.path)
  }

  private func add(from folder: Folder, below place: String, depth: Int, to found: inout [Picture]) throws(Errno) {
    for name in try folder.names() where found.count < Self.most && !name.hasPrefix(".") {
      guard let file = try folder.standing(name) else { continue }
      if file.identity.isRegularFile {
        guard Self.isPicture(name), file.changed >= since * 1_000_000 else { continue }
        found.append(Picture(path: place + name, changed: file.changed))
      } else if depth < Self.deepest, let inner = try? folder.opened(name) {
        try add(from: inner, below: "\(place)\(name)/", depth: depth + 1, to: &found)
      }
    }
  }

  /// - Parameter picture: relative to the folder.
  func path(of picture: String) throws(Refused) -> String {
    let full = FilePath(path).appending(picture).string
    guard FileNaming.isUsablePath(picture), Self.isPicture(picture), PageFolder(root: path).contains(full) else {
      throw Refused("no such picture", status: 404)
    }
    return full
  }
}
