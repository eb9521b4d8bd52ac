import DownloadModel

/// The messages about watched lists.
enum WatchMessages {
  /// - Returns: the kind of news, and the rest of the line.
  static func text(_ news: WatchNews, _ words: ProgressMessages) -> (head: String, text: String) {
    switch news {
    case .missing(let list, let files):
      let gone = "\(list) is gone; going on with its \(Quantity.files(files)) until it is back"
      return ("list", files == 0 ? "\(list) does not exist; waiting for it" : gone)
    case .unreadable(let why, let files):
      let named = "going on with the \(Quantity.files(files)) that it named before"
      let rest = files == 0 ? "waiting until that changes" : named
      return ("list", "\(words.rejection(why)); \(rest)")
    case .changed(let change) where change.list == WatchNews.added:
      return ("list", "\(Quantity.files(change.started)) added")
    case .changed(let change): return ("list", "\(change.list) has changed: \(text(change))")
    case .removed(let request, let was): return ("removed", "\(request.address.key), \(text(was))")
    case .asking(let files): return ("asking", "again about \(Quantity.files(files))")
    case .waiting(let status): return ("watching", text(status))
    }
  }

  static func text(_ status: WatchStatus) -> String {
    let lists = status.lists.prefix(2).joined(separator: ", ")
    let more = status.lists.count > 2 ? " and \(status.lists.count - 2) more" : ""
    let next = status.nextLook.map { ", next look in \(Quantity.countdown($0))" } ?? ""
    return "\(lists)\(more); \(Quantity.files(status.files))\(next)"
  }

  private static func text(_ change: WatchNews.Change) -> String {
    let parts = [
      (change.started, "new"), (change.removed, "removed"), (change.restarted, "started over"),
      (change.mended, change.mended == 1 ? "bad line gone" : "bad lines gone"),
    ]
    let said = parts.filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    return (said + ["\(Quantity.files(change.files)) now"]).joined(separator: ", ")
  }

  private static func text(_ was: WatchNews.Removed) -> String {
    switch was {
    case .waiting: "which had not started"
    case .running: "which is cancelled"
    case .done: "whose file stays"
    case .failed: "which had failed"
    }
  }
}
