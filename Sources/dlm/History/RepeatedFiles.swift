import DownloadCaching
import FileReceiving
import DownloadModel
import Glibc
import SystemPackage

/// Files that a run downloads into a temporary folder: only to compare them with the files of earlier runs, or to write
/// them to standard output.
struct RepeatedFiles {
  let scratch: ScratchFolder
  /// Caught before the scratch folder is made, because no signal may leave it behind.
  let signals: Signals
  let fetched = FetchedFiles()
  var output: OutputStream?
  /// For a run that is compared, so that it does the work of a first one. Below the user's cache, because SQLite opens
  /// its files by path.
  var index: ScratchFolder?

  var files: FilePath { scratch.path.appending("files") }

  /// - Parameter user: the user's own cache folder, `nil` for a run without the cache.
  func cacheFolder(_ user: FilePath?) -> FilePath? { output == nil ? index?.path : user }

  func remove() {
    scratch.remove()
    index?.remove()
  }

  /// On the cooperative pool, because this time is not measured. The existing files, and the user's index, are only
  /// read.
  @concurrent
  func compare(with settings: Settings, cacheFolder: FilePath?) async throws(DownloadError) -> RepeatVerdict {
    let cache = DownloadCache(
      configuration: Wiring.configuration(settings, cacheFolder: cacheFolder),
      executor: BlockingExecutor(label: "standing-files"))
    let result: Result<RepeatVerdict, DownloadError>
    do {
      result = .success(try await compare(with: settings.output.directory, cache))
    } catch { result = .failure(error) }
    _ = await cache.close()  // nothing was written, so there is no warning
    return try result.get()
  }

  /// A file that the index does not know (`--no-cache`, `dlm clear-cache`) is searched for under the names of all files
  /// with the same intended name, because the order of answers decided which file got which.
  private func compare(with directory: String, _ cache: DownloadCache) async throws(DownloadError) -> RepeatVerdict {
    var verdict = RepeatVerdict()
    var digests = FileDigests(activity: "comparing", scratch)
    var seen: Set<ByteText> = []
    var taken: Set<ByteText> = []
    let files = fetched.all.filter { seen.insert(ByteText($0.path)).inserted }
    let named = Dictionary(grouping: files) { ByteText($0.wanted) }.mapValues { $0.map(\.outcome.name) }
    for file in files {
      let known = try await cache.standingPath(of: file.request)
      let others = named[ByteText(file.wanted)] ?? []
      let names = [file.outcome.name] + others.filter { !FileNaming.areSame($0, file.outcome.name) }
      let folder = file.request.folder.map { Self.path(of: $0, in: directory) } ?? directory
      let places = known.map { [$0] } ?? names.map { Self.path(of: $0, in: folder) }
      var equal: String?
      var isHere = false
      for (index, place) in places.enumerated() where equal == nil && !taken.contains(ByteText(place)) {
        guard access(place, F_OK) == 0 || errno != ENOENT else { continue }
        if index == 0 { isHere = true }
        if try digests.digest(of: place) == digests.digest(of: file.path) { equal = place }
      }
      if equal != nil || isHere { verdict.compared += 1 }
      if let equal {
        taken.insert(ByteText(equal))
        continue
      }
      let difference = RepeatVerdict.Difference(
        address: file.request.address.key, path: places.first ?? file.outcome.name)
      if isHere { verdict.differences.append(difference) } else { verdict.missing.append(difference) }
    }
    return verdict
  }

  private static func path(of name: String, in directory: String) -> String {
    directory == "." || directory.isEmpty ? name : "\(directory)/\(name)"
  }
}
