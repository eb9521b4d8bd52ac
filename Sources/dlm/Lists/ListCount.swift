import DownloadModel
import FileReceiving
import Glibc
import SystemPackage

/// Counts lists that can be read at once before the run has read them to their end, so that the end is in sight. On a
/// thread of its own; it keeps no line.
struct ListCount {
  /// Most lists have been read by then.
  private static let patience = Duration.milliseconds(500)

  let sources: [Source]
  let marks: RequestMarks

  /// Tells the feed how many files there are, and the sizes that their lines give. Pipes, lists at URLs, and a list
  /// that changes meanwhile are not counted.
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

  private var identities: [FileIdentity?] {
    sources.compactMap(\.path).map { path in
      var status = stat()
      return stat(path, &status) == 0 ? FileIdentity(status) : nil
    }
  }
}
