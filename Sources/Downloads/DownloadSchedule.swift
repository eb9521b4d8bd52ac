import CurlTransport
import DownloadCaching
import DownloadModel
public import DownloadScheduling
import FileReceiving

/// A strategy, and how many files at a time it may have under way.
public struct DownloadSchedule: Sendable {
  let strategy: any DownloadStrategy
  /// Nil for as many as help, `DownloadConfiguration.jobs` at most.
  let width: Int?
  /// Whether the strategy is run once, over all of the list.
  let isWhole: Bool
  let mode: DownloadMode

  private init(_ strategy: any DownloadStrategy, _ width: Int?, isWhole: Bool = false, mode: DownloadMode = .parallel) {
    (self.strategy, self.isWhole, self.mode) = (strategy, isWhole, mode)
    self.width = width.map { max(1, $0) }
  }

  /// One file after the other over one connection, never in segments.
  public static let sequential = DownloadSchedule(SequentialStrategy(), 1, mode: .sequential)

  /// `width` lanes, at least 1, made with `async let`; nil for as many as help (`DownloadConfiguration.jobs`).
  public static func asyncLet(width: Int? = nil) -> Self { Self(AsyncLetStrategy(), width) }

  /// A task a file, `width` at a time, at least 1; nil for as many as help (`DownloadConfiguration.jobs`).
  public static func taskGroup(width: Int? = nil) -> Self { Self(TaskGroupStrategy(), width) }

  /// A strategy of the program's own, run once over the whole list, on one loop; it keeps to `width` files at a time.
  ///
  /// It must download each request that it draws, once, before `run` returns: the list ends only when all that was
  /// drawn has ended. What it still has then fails as `skipped`; what it leaves in the source has no outcome.
  public static func own(_ strategy: some DownloadStrategy, width: Int) -> Self { Self(strategy, width, isWhole: true) }
}
