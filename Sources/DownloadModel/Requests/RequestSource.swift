/// The source of a run's requests, read no faster than they are needed. Several lanes may call `next()` at a time; each
/// request is given to exactly one of them.
public protocol RequestSource: Sendable {
  /// The next request; `nil` at the end of the list, for every caller from then on, and for a cancelled task.
  nonisolated(nonsending) func next() async -> DownloadRequest?

  /// The next request, if one is available without waiting.
  func takeAtOnce() -> DownloadRequest?

  var outlook: SourceOutlook { get }
}

extension RequestSource {
  public func takeAtOnce() -> DownloadRequest? { nil }
  public var outlook: SourceOutlook { SourceOutlook() }
}
