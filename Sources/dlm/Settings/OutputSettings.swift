import ArgumentParser
import DownloadCaching
import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

struct OutputSettings {
  /// As the user wrote it, with the folders of `--output`.
  var directory: String
  /// The last part of `--output`.
  let name: String?
  /// `--output -`
  let isStandardOutput: Bool
  let asksNames: Bool
  /// `Wiring` adds the run's own values: its folders, and the settings on which an answer depends.
  var cache: CacheConfiguration

  /// Whether names or conflicts cause questions to the user.
  var asks: Bool { asksNames || cache.receiving.conflictPolicy == .ask }

  init(_ output: GetOptions, _ lists: [Source], _ sources: SettingsSources) throws {
    isStandardOutput = output.output.map { OutputFile.descriptor($0) == OutputFile.descriptor("-") } ?? false
    let place = isStandardOutput ? nil : try output.output.map { try Self.place($0, below: output.directory) }
    name = place?.name
    let usual = isStandardOutput ? TemporaryFolder.path(sources.environment) : "."
    directory = place?.folder ?? output.directory ?? usual
    asksNames = output.askNames
    cache = Self.cache(output, in: directory)
    for (isOther, other, message) in [
      (output.noCache, "no-cache", "takes files from the cache, and --no-cache does without it"),
      (output.revalidate, "revalidate", "asks no server, and --revalidate asks about everything"),
      (output.refresh, "refresh", "asks no server, and --refresh asks anew"),
    ] where output.offline && isOther {
      throw sources.conflict("--offline \(message): use one of the two.", "offline", other)
    }
    if lists.count == 1, lists[0].isAddress { return }
    if output.output != nil {
      throw ValidationError("--output names the file of a single URL; use --directory for a list.")
    }
    if output.checksum != nil {
      throw ValidationError("--checksum is for a single URL; use --checksums FILE for a list.")
    }
  }

  private static func cache(_ output: GetOptions, in directory: String) -> CacheConfiguration {
    var cache = CacheConfiguration(directory: FilePath(directory), cacheFolder: nil)
    cache.receiving.conflictPolicy = output.onConflict
    cache.receiving.refresh = output.refresh
    cache.offline = output.offline
    cache.freshness.revalidates = output.revalidate
    cache.freshness.guesses = output.heuristic
    cache.freshness.maxAge = output.maxAge.map { Int($0.seconds) }
    cache.freshness.maxStale = output.maxStale.map { Int($0.seconds) }
    cache.receiving.useContentDisposition = !output.noContentDisposition
    cache.receiving.requiredProof = output.requireProof ?? .nothing
    cache.receiving.expectedTypes = output.expect
    cache.receiving.maxSize = output.maxFilesize?.bytesPerSecond
    cache.syncs = output.fsync
    cache.receiving.usesRemoteTime = output.remoteTime
    cache.store = output.store ?? .auto
    cache.maxStoreBytes = output.cacheMaxSize?.bytesPerSecond
    return cache
  }

  /// - Throws: `ValidationError` for a path that cannot be a file.
  private static func place(_ text: String, below directory: String?) throws -> (name: String, folder: String) {
    let path = FilePath(directory ?? "").pushing(FilePath(text))
    let type = path.fileType ?? S_IFREG
    let isFolder = text.unicodeScalars.last == "/" || type == S_IFDIR && !text.isEmpty
    guard let name = path.lastComponent?.string, FileNaming.isUsable(name), !FileNaming.hasControls(name),
      type == S_IFREG, !isFolder, !text.isEmpty
    else {
      let why =
        isFolder
        ? "is a folder: give --directory \(path) to put the file there, or name the file too."
        : "is no file: it is empty, too long, kept for unfinished files, has control characters, or is a device "
          + "(give --output - and > DEVICE)."
      throw ValidationError("--output \"\(text)\" \(why)")
    }
    return (name, path.folder.string)
  }

  /// The intended path of a request's file, before any server was contacted.
  /// - Parameter name: `nil` for its name without a conflict.
  func path(of request: DownloadRequest, named name: String? = nil) -> String {
    let parts = [directory, request.folder, name ?? FileNaming.name(of: request)]
    return isStandardOutput ? "-" : parts.compactMap(\.self).joined(separator: "/")
  }

  /// - Parameter place: a path, or a URL.
  /// - Throws: `ExitStatus` 66, or 75, if it cannot be read, after the message; `ValidationError`.
  mutating func readChecksums(_ place: String, _ fetching: ListAtAddress.Fetching) async throws {
    let isAddress = place.contains("://")
    if isAddress, let address = try? Address(place) { _ = try ListForm.withoutLogin("--checksums", address) }
    var form = ListForm()
    let text = WholeText()
    let failures = FailureLog()
    form.whole = text
    let reader = ListReader(
      [isAddress ? .listAt(place) : .list(path: place)], RequestMarks(form: form), fetching: fetching,
      onReject: { failures.add($0) })
    if await reader.all().isEmpty, await reader.isWhole {
      let list = ChecksumList(text.bytes)
      let name = Redaction.redactedAddress(place)
      if let unknown = FileLines.isBLAKE2(name) ? "BLAKE2" : list.unknownAlgorithm {
        failures.add(Rejection(list: name, line: nil, text: "", reason: .noList(.checksums(unknown))))
      } else {
        StandardError.say(
          list.malformedLines.prefix(5).map { "dlm: \(name):\($0): not a checksum line; ignored" }
            + list.ambiguousNames.prefix(5).map { "dlm: \(name): \($0) has different checksums; none is used" })
        if list.count > 0 { return cache.receiving.checksums = list }
        StandardError.say("dlm: \(name) has no checksums; write lines like \"HEX  name\"")
      }
    }
    throw failures.sayRejections() == .tryAgain ? ExitStatus.tryAgain : ExitStatus.sourceUnreadable
  }
}
