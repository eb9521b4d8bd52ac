import DownloadModel
public import DownloadScheduling

/// A strategy, and how many files it may download at a time.
public struct DownloadSchedule: Sendable {
  let strategy: any DownloadStrategy
  /// `nil` for as many as help, at most `DownloadConfiguration.jobs`.
  let width: Int?
  /// Whether the strategy is run once, over all of the list.
  let isWhole: Bool
  let mode: DownloadMode

  private init(_ strategy: any DownloadStrategy, _ width: Int?, isWhole: Bool = false, mode: DownloadMode = .parallel) {
    self.strategy = strategy
    self.isWhole = isWhole
    self.mode = mode
    self.width = width.map { max(1, $0) }
  }

  /// One file after the other over one connection, never in segments.
  public static let sequential = DownloadSchedule(SequentialStrategy(), 1, mode: .sequential)

  /// `width` lanes, at least 1, made with `async let`; `nil` for as many as help (`DownloadConfiguration.jobs`).
  public static func asyncLet(width: Int? = nil) -> Self { Self(AsyncLetStrategy(), width) }

  /// One task for each file, `width` at a time, at least 1; `nil` for as many as help (`DownloadConfiguration.jobs`).
  public static func taskGroup(width: Int? = nil) -> Self { Self(TaskGroupStrategy(), width) }

  /// A program's own strategy, run once over the whole list, on one loop; it must not exceed `width` files at a time.
  ///
  /// It must download each request that it takes, once, before `run` returns: the list ends only when all requests that
  /// it took have ended. A request that was not downloaded fails as `skipped`; requests left in the source have no
  /// outcome.
  public static func own(_ strategy: some DownloadStrategy, width: Int) -> Self { Self(strategy, width, isWhole: true) }
}
