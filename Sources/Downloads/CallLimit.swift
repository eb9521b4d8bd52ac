import DownloadModel

/// Opens a session for a scope and closes it at the end, also when the scope throws: no download outlives it.
/// - Throws: the errors of opening (`DownloadError`) and of `body`.
public nonisolated(nonsending) func withDownloads<Value>(
  _ configuration: DownloadConfiguration, _ body: nonisolated(nonsending) (Downloads) async throws -> Value
) async throws -> Value {
  let downloads = try await Downloads(configuration)
  do {
    let value = try await body(downloads)
    await downloads.close()
    return value
  } catch {
    await downloads.close()
    throw error
  }
}

/// The same with the most common settings.
public nonisolated(nonsending) func withDownloads<Value>(
  into directory: String, cacheFolder: String? = nil, _ body: nonisolated(nonsending) (Downloads) async throws -> Value
) async throws -> Value {
  try await withDownloads(DownloadConfiguration(directory: directory, cacheFolder: cacheFolder), body)
}

/// Limits the parallel single downloads of a session, in total and for each host; a list has its own queue.
final class CallLimit: Sendable {
  private struct State {
    var free: Int
    var underWay: [String: Int] = [:]
  }

  private let state: Waiters<State>
  private let perHost: Int

  init(_ count: Int, perHost: Int?) {
    state = Waiters(State(free: max(1, count)))
    self.perHost = max(1, perHost ?? count)
  }

  /// Suspends until a download from a host may start.
  /// - Returns: false if the task was cancelled meanwhile; otherwise `leave` must be called.
  func enter(_ host: String) async -> Bool {
    await state.wait { [perHost] state in
      guard state.free > 0, state.underWay[host, default: 0] < perHost else { return nil }
      state.free -= 1
      state.underWay[host, default: 0] += 1
      return true
    } ?? false
  }

  func leave(_ host: String) {
    state.withLock { state in
      state.free += 1
      state.underWay[host] = state.underWay[host].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
  }
}
