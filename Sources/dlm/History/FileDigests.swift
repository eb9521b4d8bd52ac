import DownloadModel

/// SHA-256 digests of files, each read once.
struct FileDigests {
  private let activity: String
  private let scratch: ScratchFolder?
  private var known: [ByteText: String] = [:]

  /// - Parameter scratch: a folder that may contain some of the files.
  init(activity: String, _ scratch: ScratchFolder? = nil) {
    self.activity = activity
    self.scratch = scratch
  }

  /// - Throws: `.disk` with the path that cannot be read; `.cancelled`.
  mutating func digest(of path: String) throws(DownloadError) -> String {
    let key = ByteText(path)
    if let digest = known[key] { return digest }
    do {
      let digest = try ContentDigest.ofFile(scratch?.held(path) ?? path).hex
      known[key] = digest
      return digest
    } catch { throw DownloadError(ofFile: error, path: path, activity: activity) }
  }
}
