import DownloadModel

/// What is told of watched lists, in words.
struct WatchMessages {
  let words: ProgressMessages

  /// - Returns: the kind of news, and the rest of the line.
  func text(_ news: WatchNews) -> (head: String, text: String) {
    switch news {
    case .missing(let list, let files):
      let rest = files == 0 ? "waiting for it" : "its \(Quantity.files(files)) until it is back"
      return ("list", files == 0 ? "\(list) is not there; \(rest)" : "\(list) is gone; going on with \(rest)")
    case .unreadable(let why, let files):
      let rest =
        files == 0
        ? "waiting until that changes" : "going on with the \(Quantity.files(files)) that it named before"
      return ("list", "\(words.rejection(why)); \(rest)")
    case .changed(let change): return ("list", "\(change.list) has changed: \(Self.text(change))")
    case .removed(let request, let was): return ("removed", "\(request.address.key), \(Self.text(was))")
    case .asking(let files): return ("asking", "again about \(Quantity.files(files))")
    case .waiting(let status): return ("watching", Self.text(status))
    }
  }

  /// `urls.txt; 40 files, next look in 9:58`
  static func text(_ status: WatchStatus) -> String {
    let lists = status.lists.prefix(2).joined(separator: ", ")
    let more = status.lists.count > 2 ? " and \(status.lists.count - 2) more" : ""
    let next = status.nextLook.map { ", next look in \(Quantity.countdown($0))" } ?? ""
    return "\(lists)\(more); \(Quantity.files(status.files))\(next)"
  }

  private static func text(_ change: WatchNews.Change) -> String {
    let parts = [
      (change.started, "new"), (change.removed, "removed"), (change.restarted, "begun anew"),
      (change.mended, change.mended == 1 ? "bad line gone" : "bad lines gone"),
    ]
    let said = parts.filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    return (said + ["\(Quantity.files(change.files)) now"]).joined(separator: ", ")
  }

  private static func text(_ was: WatchNews.Removed) -> String {
    switch was {
    case .waiting: "which had not begun"
    case .running: "which is cancelled"
    case .done: "whose file stays"
    case .failed: "which had failed"
    }
  }
}
