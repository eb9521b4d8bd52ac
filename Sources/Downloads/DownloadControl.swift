import DownloadModel

/// Reports the progress of one single download, and pauses it. Make one for each download, pass it to
/// `Downloads.download`, and use it from any task.
///
///     let control = DownloadControl()
///     async let file = downloads.download("https://example.org/a.iso", control: control)
///     for await progress in control.progress { print(progress.fraction ?? 0) }
///     print(try await file.path)
public final class DownloadControl: Sendable {
  /// The download's progress, for one reader. It ends with the download; after success, its last element has the file's
  /// full length. Coalesced: a reader that is slower than the interval gets the latest numbers.
  public let progress: AsyncStream<DownloadProgress>
  private let updates: AsyncStream<DownloadProgress>.Continuation
  private let interval: Duration
  private let paused = Waiters(false)

  /// - Parameter progressInterval: time between two elements of `progress`, while bytes arrive.
  public init(progressInterval: Duration = .milliseconds(100)) {
    (progress, updates) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    interval = progressInterval
  }

  /// Whether `pause` was called without a later `resume`.
  public var isPaused: Bool { paused.withLock { $0 } }

  /// Ends the transfer and its connection, and saves the part; the call of `download` waits for `resume`. Other
  /// downloads may run meanwhile, and no time limit counts. Called before the download starts, it delays the start;
  /// after its end, it does nothing.
  public func pause() { paused.withLock { $0 = true } }

  /// Continues the download where it stopped; from the beginning if its server cannot send a range, or now has another
  /// version of the file.
  public func resume() { paused.withLock { $0 = false } }

  /// Runs the download once, and reports its progress to a feed.
  typealias Attempt = @Sendable (ProgressFeed) async -> DownloadResult

  /// Ends the progress.
  func end() { updates.finish() }

  /// Runs the download, again after each pause.
  /// - Returns: `nil` for a task that was cancelled before the download ended.
  func run(_ item: DownloadItem, _ attempt: @escaping Attempt) async -> DownloadResult? {
    while await paused.wait({ $0 ? nil : true }) != nil {
      guard let result = await runUntilPaused(item, attempt) else { continue }
      if case .success(let file) = result {
        updates.yield(DownloadProgress(index: 0, item: item, bytes: file.size, total: file.size))
      }
      return result
    }
    return nil
  }

  /// - Returns: `nil` for a download that was ended by a pause or by the task's cancellation.
  private func runUntilPaused(_ item: DownloadItem, _ attempt: @escaping Attempt) async -> DownloadResult? {
    let feed = ProgressFeed()
    let reader = feed.reader(of: .files)
    return await withTaskGroup(of: DownloadResult?.self) { group in
      group.addTask { await attempt(feed) }
      group.addTask { [paused] in
        _ = await paused.wait { $0 ? true : nil }
        return nil
      }
      group.addTask { [updates, interval] in
        var position: Int64 = 0
        // A clock's sleep ends early only for a cancelled task.
        while (try? await Task.sleep(for: interval)) != nil {
          guard let meter = reader.take().active.first?.meter, meter.position != position else { continue }
          position = meter.position
          updates.yield(DownloadProgress(index: 0, item: item, bytes: position, total: meter.total))
        }
        return nil
      }
      let first = await group.next().flatMap(\.self)
      group.cancelAll()
      if first != nil { return first }
      for await case let result? in group {
        // It may have ended otherwise at the moment of the pause.
        if case .failure(let error) = result, error.code == .cancelled { return nil }
        return result
      }
      return nil
    }
  }
}
