package import DownloadModel

/// The key of an index row: a URL as first requested into one folder, whatever the file's name.
package struct RowKey: Hashable {
  /// `Address.resource`. A new login, header line, certificate or signature makes no other file (HTTP rule 30).
  package var address: String { parts.address }
  /// Canonical path of the output folder.
  package var directory: String { parts.directory }
  /// The name that the user chose; empty if the server or the URL gave it.
  package var requested: String { parts.requested }

  /// Behind a reference, because a key is passed on in each step of a download.
  private let parts: Parts

  private final class Parts: Sendable {
    let address, directory, requested: String
    /// Of the URL alone: a run has one folder and few requested names.
    let hash: Int

    init(_ address: String, _ directory: String, _ requested: String, _ hash: Int) {
      self.address = address
      self.directory = directory
      self.requested = requested
      self.hash = hash
    }
  }

  package init(address: String, directory: String, requested: String) {
    parts = Parts(address, directory, requested, address.hashValue)
  }

  package init(of request: DownloadRequest, in directory: OutputDirectory) {
    let address = request.address
    parts = Parts(address.resource, directory.canonicalPath, request.outputName ?? "", address.resourceHash)
  }

  /// The requested name of a file in the cache's own store (`FileStore`). No file can have this name.
  package static let stored = "/"
  package var isStored: Bool { requested == Self.stored }

  /// The key of a file that was set aside because its checksum was wrong.
  package init(rejected name: String, of key: RowKey) {
    parts = Parts(key.address, key.directory, Self.stored + name, key.parts.hash)
  }

  package var isRejected: Bool { !isUsers && !isStored }
  /// Whether the file is one that the user wants.
  package var isUsers: Bool { requested.utf8.first != .slash }

  /// Compares bytes, as SQLite and file systems do.
  package static func == (left: RowKey, right: RowKey) -> Bool {
    let left = left.parts
    let right = right.parts
    return left === right
      || (left.hash == right.hash && left.address == right.address
        && FileNaming.areSame(left.requested, right.requested) && FileNaming.areSame(left.directory, right.directory))
  }

  /// Omits the folder: most tables hold the keys of one folder.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(parts.hash)
    if !requested.isEmpty { hasher.combine(requested) }
  }

  /// A hash of the URL, valid in this process, for tables of millions of files that should not hold URLs.
  package var owner: Int { parts.hash }

  /// Identifies the request among all processes of this user. Equal for all folders, so that a process can copy a file
  /// that another downloads elsewhere. A run without an index cannot find that file, so its folder and name count too.
  package func claim(isIndexed: Bool) -> UInt64 {
    var hash = Hash.of(address.utf8)
    for part in isIndexed ? [] : [directory, requested] where !part.isEmpty { hash = (hash &* 31) ^ Hash.of(part.utf8) }
    return hash
  }
}
