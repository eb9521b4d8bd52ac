public import DownloadModel

/// One file after the other: the plain loop that the other two are measured against.
///
///     a ──────► b ──────► c ──────►
///
/// Its time is the sum of all downloads; while one waits for its server, nothing else happens.
public struct SequentialStrategy: DownloadStrategy {
  public init() {}

  public func run(
    _ source: some RequestSource, width: Int, isolation: isolated (any Actor)?, download: @escaping Download
  ) async {
    while !Task.isCancelled, let request = await source.next() {
      await download(request, isolation)
    }
  }
}
