import CurlTransport
import DownloadModel
import FileReceiving

/// The folders below a page on its own server, to the depth of `--depth`. Each is read once, the nearest first, so that
/// cyclic links end.
struct PageFolders {
  private struct Folder {
    /// As written in URLs, with slashes at both ends.
    let path: String
    let depth: Int
  }

  /// Pages, including the first one.
  static let most = 10_000

  private let depth: Int
  /// Whether files go into the same folders as below the page.
  private let namesFolders: Bool
  private var page: Address?
  private var found: [Folder] = []
  private var paths: Set<String> = []
  private var current = 0
  /// Whether some are not read because there are too many.
  private(set) var isCut = false
  /// Paths that the server's robots.txt forbids.
  private(set) var forbidden: [String] = []
  /// `nil` until it has been requested.
  var robots: RobotsRules?

  init(depth: Int, namesFolders: Bool) {
    self.depth = depth
    self.namesFolders = namesFolders
  }

  var hasMore: Bool { current + 1 < found.count }
  var isBelow: Bool { current > 0 }

  mutating func begin(at page: Address) {
    guard self.page == nil else { return }
    self.page = page
    let path = String(page.path.dropLast(page.lastPathSegment.utf8.count))
    found = [Folder(path: path.isEmpty ? "/" : path, depth: 0)]
    paths = [found[0].path]
  }

  /// Whether a URL is in the page's folder or below. Encoded dots could lead out of it.
  func hold(_ address: Address) -> Bool {
    guard let page, let top = found.first, address.isSameOrigin(as: page) else { return false }
    return address.path.utf8.starts(with: top.path.utf8)
      && !address.path.lowercased().replacing("%2e", with: ".").contains("/../")
  }

  /// - Parameter address: a folder's URL. Its query is dropped: it only shows the same page in another order.
  mutating func add(_ address: Address) {
    guard found[current].depth < depth, hold(address) else { return }
    let path = String(address.path)
    if paths.contains(path) { return }
    guard found.count < Self.most else { return isCut = true }
    paths.insert(path)
    found.append(Folder(path: path, depth: found[current].depth + 1))
  }

  /// - Returns: `nil` if none is left.
  mutating func next() -> Address? {
    while hasMore {
      current += 1
      let path = found[current].path
      if robots?.allow(path) == false {
        forbidden.append(path)
        // Two slashes would start a host's name.
      } else if let page,
        let address = AddressReference.resolve(path.hasPrefix("//") ? "/.\(path)" : path, against: page)
      {
        return address
      }
    }
    return nil
  }

  /// The folder of a file; `nil` for none.
  func folder(of file: Address) -> String? {
    guard namesFolders, hold(file), let top = found.first else { return nil }
    return FileNaming.folder(
      of: file, from: .thirdParty, keepsPath: true, prefixesHost: false, behind: top.path.utf8.count { $0 == 0x2F })
  }
}
