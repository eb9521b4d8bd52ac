public import DownloadModel
public import SystemPackage

/// How long files were when they were last fetched, by the index: for the order of a run, and for nothing else, since a
/// file may have changed, and another login may get another.
///
/// A connection of its own, which only reads, and never waits: what cannot be had at once is not known.
public final class IndexedSizes {
  private let connection: Connection
  private let lookup: Statement

  /// - Parameter folder: the cache's.
  /// - Returns: nil if there is no index yet, or none that can be read.
  public init?(in folder: FilePath) {
    guard let own = try? Folder(own: folder), (try? own.standing(CacheIndex.fileName))?.isUsers == true else {
      return nil
    }
    do throws(DatabaseError) {
      connection = try Connection(folder.appending(CacheIndex.fileName).string, .readOnly)
      lookup = try connection.statement(CacheSchema.sizeOfAddress)
    } catch {
      return nil
    }
  }

  /// - Returns: bytes; nil if unknown.
  public func size(of address: Address) -> Int64? {
    // What cannot be read is not known.
    let found = try? lookup.rows([.text(address.resource)]) { $0.number(0) }.first
    guard let size = found ?? nil, CacheRow.sizes.contains(size) else { return nil }
    return size
  }
}
