package import DownloadModel
import FileReceiving
package import SystemPackage

/// The lengths of files at their last download. They serve only to order a run, because the files may have changed.
/// Never waits: a length that is not available at once is unknown.
package final class IndexedSizes {
  private let connection: Connection
  private let lookup: Statement

  /// - Returns: `nil` without a readable index.
  package init?(in folder: FilePath) {
    guard let own = try? Folder(own: folder), (try? own.standing(IndexDatabase.fileName))?.isUsers == true,
      let connection = try? Connection(folder.appending(IndexDatabase.fileName).string, writes: false),
      let lookup = try? connection.statement(CacheSchema.sizeOfAddress)
    else { return nil }
    self.connection = connection
    self.lookup = lookup
  }

  /// - Returns: bytes; `nil` if unknown.
  package func size(of address: Address) -> Int64? {
    let found = try? lookup.rows([.text(address.resource)]) { $0.number(0) }.first
    guard let size = found ?? nil, CacheRow.sizes.contains(size) else { return nil }
    return size
  }
}
