import DownloadModel
import Foundation
import Glibc
import SystemPackage

/// That the last list of a folder is to be fetched once more, in another mode, to be compared.
struct RepeatPlan: Sendable {
  let mode: DownloadMode
  /// The mode of the last run.
  let other: DownloadMode
  /// How the other mode did; nil where it never fetched the whole list.
  let otherRun: RunHistory.Run?
  /// How this mode did, if it ran before.
  let ownRun: RunHistory.Run?
  /// How the list is called.
  let list: String

  /// As many bytes as are to come, as far as an earlier run knows.
  var bytes: Int64 { otherRun?.transferredBytes ?? ownRun?.transferredBytes ?? 0 }
}

extension RepeatPlan {
  /// Nil for an ordinary run: the last one did not end whole, or was in this mode; the list is another by now, or the
  /// folder; or it was asked to fetch anew or from the disk, which is about the files here.
  ///
  /// Reads the list once to its end.
  init?(
    _ last: LastList, _ sources: [Source], _ settings: Settings, asking: ListAtAddress.Asking, noCompare: Bool
  ) async {
    let history = last.history
    guard !noCompare, !settings.refresh, !settings.offline, let run = history.last, run.mode != settings.mode,
      run.directory == RunMemory.canonical(settings.directory), sources.allSatisfy(Self.canBeReadTwice)
    else { return nil }
    guard await ListReader.digest(of: sources, asking: asking) == run.listDigest else { return nil }
    func measured(_ mode: DownloadMode) -> RunHistory.Run? {
      history.runs[mode.rawValue].flatMap { $0.listDigest == run.listDigest ? $0 : nil }
    }
    mode = settings.mode
    other = run.mode
    otherRun = measured(run.mode)
    ownRun = measured(settings.mode)
    list = last.names
  }

  private static func canBeReadTwice(_ source: Source) -> Bool {
    switch source {
    case .standardInput: return false
    case .address, .listAt: return true
    case .list(let path):
      var status = stat()
      return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }
  }
}

/// How the files of a repeated run compare with what is here.
struct RepeatVerdict: Sendable, Equatable {
  struct Difference: Sendable, Equatable {
    /// Of the request, without credentials.
    var address: String
    /// What stands here, or should.
    var path: String
    /// Nothing stands there.
    var isMissing: Bool
  }

  /// Files, each once.
  var compared = 0
  var differences: [Difference] = []
  var isSame: Bool { differences.isEmpty }
}

/// What a repeated run fetched, and how it is compared with the files of the earlier runs.
struct RepeatedFiles: Sendable {
  let scratch: ScratchFolder
  let fetched = FetchedFiles()

  /// Where the run's files go.
  var files: FilePath { scratch.path.appending("files") }
  /// An index of its own, so that the run does the work of a first one.
  var index: FilePath { scratch.path.appending("index") }

  /// Byte for byte, on the cooperative pool: it is no part of what is measured. What is here is only read.
  /// - Parameter standing: where an earlier run put the file of a request, as far as that is known. What is not known
  ///   (`--no-cache`, `dlm clear-cache`) is looked for under the name that the file has now, and under those that others
  ///   have who were to have the same: which of them got which may have depended on answers.
  @concurrent
  func compare(
    with directory: String,
    standing: @Sendable (DownloadRequest) async throws(DownloadError) -> String?
  ) async throws(DownloadError) -> RepeatVerdict {
    var verdict = RepeatVerdict()
    var seen: Set<String> = []
    let files = fetched.all.filter { seen.insert($0.path).inserted }
    let named = Dictionary(grouping: files, by: \.wanted).mapValues { $0.map { Self.name(of: $0) } }
    var taken: Set<String> = []
    for file in files {
      if Task.isCancelled { throw .cancelled }
      verdict.compared += 1
      let name = Self.name(of: file)
      let known = try await standing(file.request)
      let places =
        known.map { [$0] }
        ?? ([name] + (named[file.wanted] ?? []).filter { $0 != name }).map {
          directory == "." || directory.isEmpty ? $0 : "\(directory)/\($0)"
        }
      var found: Bool?
      for (index, place) in places.enumerated() where !taken.contains(place) {
        let isEqual = try Self.areEqual(file.path, place)
        if index == 0 || isEqual == true { found = isEqual }
        guard isEqual == true else { continue }
        taken.insert(place)
        break
      }
      if found != true {
        verdict.differences.append(
          .init(address: file.request.address.key, path: places.first ?? name, isMissing: found == nil))
      }
    }
    return verdict
  }

  private static func name(of file: FetchedFiles.File) -> String {
    FilePath(file.path).lastComponent?.string ?? ""
  }

  /// - Returns: nil if nothing stands here.
  private static func areEqual(_ fetched: String, _ here: String) throws(DownloadError) -> Bool? {
    guard let standing = try open(here, missingIsNil: true) else { return nil }
    defer { try? standing.close() }  // it was only read
    guard let came = try open(fetched, missingIsNil: false) else { return nil }
    defer { try? came.close() }  // it was only read
    while true {
      if Task.isCancelled { throw .cancelled }
      let (block, other) = (try block(of: came, fetched), try block(of: standing, here))
      if block != other { return false }
      if block.isEmpty { return true }
    }
  }

  private static func open(_ path: String, missingIsNil: Bool) throws(DownloadError) -> FileDescriptor? {
    do {
      // Not waiting for a pipe's other end, whatever stands there.
      return try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
    } catch {
      if missingIsNil, error as? Errno == .noSuchFileOrDirectory { return nil }
      throw failure(error, path)
    }
  }

  /// Whole blocks, but for the last: two files are read in step.
  private static func block(of file: FileDescriptor, _ path: String) throws(DownloadError) -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: 256 * 1024) { buffer, count in
        let bytes = UnsafeMutableRawBufferPointer(buffer)
        while count < bytes.count {
          let more = try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: bytes[count...]), retryOnInterrupt: true)
          if more == 0 { break }
          count += more
        }
      }
    } catch {
      throw failure(error, path)
    }
  }

  private static func failure(_ error: any Error, _ path: String) -> DownloadError {
    DownloadError(
      .disk, cause: .errno((error as? Errno)?.rawValue ?? EIO), path: path, activity: "comparing")
  }
}
