public import DownloadModel

extension DownloadCache {
  /// Where an earlier run into this folder put the file of a request, as the user would write the path; nil if the index
  /// does not know. Nothing is asked of a server, nothing is changed, and nothing says that the file is still as it was.
  /// - Throws: `.folder` when the output folder cannot be opened.
  public func standingPath(of request: DownloadRequest) async throws(DownloadError) -> String? {
    let directory = try outputDirectory()
    guard let index = openedIndex else { return nil }
    let key = RowKey(
      address: request.address.key, scope: scope(of: request.address), directory: directory.canonicalPath,
      requested: request.outputName ?? "")
    return await index.rows(key).first { $0.key == key }.map { directory.path(of: $0.name) }
  }
}
