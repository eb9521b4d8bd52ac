import DownloadModel
import Downloads
import TestSupport

/// An origin and a folder for one test.
final class Place: Sendable {
  let origin: FaultyOrigin
  let folder: TemporaryFolder

  init() throws {
    origin = try FaultyOrigin()
    folder = try TemporaryFolder()
  }

  deinit { origin.stop() }

  var files: String { folder.path("files") }
  var cache: String { folder.path("cache") }

  /// Has the origin serve files of some bytes each.
  /// - Returns: their addresses.
  func serve(_ count: Int, options: FileOptions = FileOptions()) -> [String] {
    (0..<count).map { number in
      origin.route("/f\(number)", .file(Self.body(number), options))
      return origin.url("/f\(number)")
    }
  }

  static func body(_ number: Int) -> [UInt8] {
    SplitMix64.bytes(count: 1000 + number, seed: UInt64(number))
  }

  func configuration(_ change: (inout DownloadConfiguration) -> Void = { _ in }) -> DownloadConfiguration {
    var configuration = DownloadConfiguration(directory: files, cacheFolder: cache)
    change(&configuration)
    return configuration
  }
}

extension DownloadEvents {
  /// All events, until the end.
  func all() async throws(DownloadError) -> [DownloadEvent] {
    var events: [DownloadEvent] = []
    for try await event in self { events.append(event) }
    return events
  }
}

extension DownloadEvent {
  var index: Int {
    switch self {
    case .progress(let progress): progress.index
    case .began(let index, _), .retrying(let index, _, _, _): index
    case .finished(let index, _, _), .failed(let index, _, _): index
    }
  }

  var file: DownloadedFile? { if case .finished(_, _, let file) = self { file } else { nil } }
  var error: DownloadError? { if case .failed(_, _, let error) = self { error } else { nil } }
  var hasBegun: Bool { if case .began = self { true } else { false } }
  var progress: DownloadProgress? { if case .progress(let progress) = self { progress } else { nil } }
}
