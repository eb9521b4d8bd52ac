public import DownloadModel

extension DownloadCache {
  /// Opens the output folder, made if missing, and the index: once before a run, so that a folder that cannot be
  /// used is one failure and not one a file.
  /// - Throws: `.folder` with errno and path.
  public func prepare() throws(DownloadError) { _ = try outputDirectory() }
}
