public import DownloadModel

/// One file after the other: the plain loop that is the baseline of the other two.
///
///     a ──────► b ──────► c ──────►
///
/// Its time is the sum of all downloads; while one waits for its server, nothing else happens.
public struct SequentialStrategy: DownloadStrategy {
  public init() {}

  public func run(_ source: some RequestSource, width: Int, download: @escaping Download) async {
    while let request = await source.next() { await download(request) }
  }
}
