package import DownloadModel
package import FileReceiving
package import SystemPackage

/// One file that the index knows (`dlm cache list`, `dlm cache show`, `dlm cache verify`), with the fields of its row.
package struct CacheEntry: Equatable {
  /// How the file compares with its row.
  package enum Condition: String {
    case intact
    /// Another size, time, inode or owner.
    case touched
    case missing
    /// Its bytes were read again, and have the checksum that was proved at the download.
    case proven
    /// It looks unchanged, but its bytes differ: a faulty disk, or a change whose time was set back.
    case corrupt
    /// Reading its bytes failed.
    case unreadable

    package var isGood: Bool { self == .intact || self == .proven }
  }

  /// The index's row of the file.
  package let row: CacheRow
  /// When listed. The last three cases occur only if the file was read (`dlm cache verify`).
  package internal(set) var condition: Condition
  package internal(set) var failure: DownloadError?

  init(_ row: CacheRow) {
    self.row = row
    let there = StandingFile.of(path: row.path)
    condition = row.isIntact(there) ? .intact : there == nil ? .missing : .touched
  }

  package var address: String { row.key.address }
  package var path: FilePath { FilePath(row.path) }
  /// Length in bytes when it was written.
  package var size: Int64 { row.identity.size }
  /// When the file becomes stale, in seconds since 1970, past or future; `nil` if the server is always asked.
  package func freshUntil(at now: Int64) -> Int64? { Freshness.end(of: row, at: now) }
  /// Whether it answers only requests with certain credentials, header lines, a certificate, or unusual checks of the
  /// server.
  package var isKeyed: Bool { row.trust != .usual }
  package var isStored: Bool { row.key.isStored }
  /// The name that the user chose (`--output`); `nil` if the server or the URL gave it.
  package var chosenName: String? { row.key.requested.isEmpty || !row.key.isUsers ? nil : row.key.requested }
  package var digest: String? { row.checksum }
}
