import DownloadModel
import FileReceiving

/// Counts the files of a run in advance, so that the total is known, if all its lists are regular files. It runs on a
/// thread of its own, and keeps no line.
struct ListCount {
  /// Most lists are read completely within this time.
  private static let patience = Duration.milliseconds(500)

  let sources: [Source]
  let marks: RequestMarks

  /// Reports the number of files and the sizes in their lines to the feed. Pipes, lists at URLs, and a list that
  /// changes meanwhile are not counted.
  func run(_ feed: ProgressFeed) async {
    guard sources.allSatisfy({ $0.isAddress || $0.path != nil && !$0.isReadOnce }) else { return }
    try? await Task.sleep(for: Self.patience)  // ends early with the run
    if Task.isCancelled || feed.tally.listIsComplete { return }
    let before = identities
    let counted = ProgressFeed()
    let reader = ListReader(sources, marks, feed: counted, countsOnly: true)
    _ = await reader.next()
    guard await reader.isWhole, identities == before else { return }
    feed.expect(counted.tally.expected)
    feed.listed(counted.tally.listed, complete: true)
  }

  private var identities: [FileIdentity?] { sources.map(\.standing?.identity) }
}
