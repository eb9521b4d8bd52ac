package import DownloadModel
import Synchronization

/// Numbers the URLs of a list that give the same name, in the list's order: `README.md?1` becomes `README.md` and
/// `README.md?2` becomes `README.1.md` in every run and mode, whichever answer is first (HTTP rule 22).
package final class NameNumbers: Sendable {
  /// The position of one line among those that give its name.
  package struct Place: Sendable, Equatable {
    /// The number of different URLs before it that give the same name.
    package var number: Int
    /// Whether the list had the URL before.
    package var isRepeat: Bool
    /// Whether it had the URL with other header lines: the two answers would overwrite each other under one name.
    var hasOtherHeaders = false
  }

  private let tables = Lock((names: NameTable(), headers: NameTable(), hasOthers: false))

  package init() {}

  /// The number of the list's next request.
  package func next(_ request: DownloadRequest) -> Place {
    let name =
      request.outputName.map { Hash.of($0.utf8) }
      ?? FileNaming.hash(ofNameOf: request.address, from: request.provenance)
    let folder = Self.hash(request.folder)
    let address = Hash.of(request.address.resource.utf8)
    let lines = request.headerLines.isEmpty ? 0 : Hash.of(request.headerLines.joined(separator: "\n").utf8)
    return tables.withLock { tables in
      var place = tables.names.next(name: name ^ folder, address: address ^ folder)
      if lines != 0 || place.isRepeat && !tables.headers.isEmpty {
        let headers = tables.headers.next(name: name ^ folder ^ address, address: lines)
        place.hasOtherHeaders = headers.number > 0 || lines != 0 && place.isRepeat && !headers.isRepeat
      }
      // A line of a list at a URL does not displace the user's own line.
      if request.provenance != .user {
        tables.hasOthers = true
      } else if tables.hasOthers {
        place.hasOtherHeaders = false
      }
      return place
    }
  }

  func last(of name: String, in folder: String?) -> Int {
    tables.withLock { $0.names.last(of: Hash.of(name.utf8) ^ Self.hash(folder)) }
  }

  /// Names in different folders are different names.
  private static func hash(_ folder: String?) -> UInt64 { folder.map { Hash.of($0.utf8) } ?? 0 }
}
