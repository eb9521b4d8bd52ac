import GRDBSQLite
public import DownloadModel
public import SystemPackage

/// How long files were when they were last fetched, by the index: for the order of a run, and for nothing
/// else, since a file may have changed, and another login may get another.
///
/// A connection of its own, which only reads, and never waits: what cannot be had at once is not known.
public final class IndexedSizes {
  private let connection: OpaquePointer
  private let lookup: OpaquePointer

  /// - Parameter folder: the cache's.
  /// - Returns: nil if there is no index yet, or none that can be read.
  public init?(in folder: FilePath) {
    guard let own = try? Folder(own: folder), (try? own.standing(CacheIndex.fileName))?.isUsers == true else {
      return nil
    }
    var (connection, lookup): (OpaquePointer?, OpaquePointer?) = (nil, nil)
    let path = folder.appending(CacheIndex.fileName).string
    guard
      sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK,
      let connection,
      sqlite3_prepare_v3(
        connection, CacheSchema.sizeOfAddress, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &lookup, nil)
        == SQLITE_OK, let lookup
    else {
      sqlite3_close_v2(connection)
      return nil
    }
    (self.connection, self.lookup) = (connection, lookup)
  }

  deinit {
    sqlite3_finalize(lookup)
    sqlite3_close_v2(connection)
  }

  /// - Returns: bytes; nil if unknown.
  public func size(of address: Address) -> Int64? {
    var key = address.resource
    return key.withUTF8 { text in
      defer { sqlite3_reset(lookup) }
      // The text stays where it is until the statement is reset, so SQLite need not copy it.
      let isBound = text.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(lookup, 1, $0.baseAddress, CInt($0.count), nil) == SQLITE_OK
      }
      guard isBound, sqlite3_step(lookup) == SQLITE_ROW,
        sqlite3_column_type(lookup, 0) == SQLITE_INTEGER
      else { return nil }
      let size = sqlite3_column_int64(lookup, 0)
      return CacheRow.sizes.contains(size) ? size : nil
    }
  }
}
