package import DownloadModel

/// Words that others make: what went wrong, said for a person.
package struct ProgressMessages: Sendable {
  /// A short reason, without the address, such as "HTTP 404 Not Found".
  package var failure: @Sendable (DownloadError) -> String
  /// The same without what the reader might do about it, where dlm itself does something.
  package var cause: @Sendable (DownloadError) -> String
  /// The whole line, list and line number included.
  package var rejection: @Sendable (Rejection) -> String

  /// The moment as in RFC 3339, for JSON lines.
  package var timestamp: @Sendable () -> String

  package init(
    failure: @escaping @Sendable (DownloadError) -> String, cause: (@Sendable (DownloadError) -> String)? = nil,
    rejection: @escaping @Sendable (Rejection) -> String, timestamp: @escaping @Sendable () -> String = { "" }
  ) {
    self.timestamp = timestamp
    self.failure = failure
    self.cause = cause ?? failure
    self.rejection = rejection
  }
}

/// What dlm does about a failure that may pass, in the same words everywhere.
package enum RetryMessages {
  /// A sentence: `503 Service Unavailable; again in 4.0 s, 2 of 5`.
  package static func text(_ cause: String, _ next: NextAttempt) -> String {
    if let source = next.source { return "\(cause); now from \(source.redacted)" }
    return (cause.isEmpty ? "" : "\(cause); ")
      + (next.delay > .zero ? "again in \(Quantity.duration(next.delay))" : "again at once")
      + (next.retries.map { ", \(next.retry) of \($0)" } ?? "")
  }

  static func text(_ reason: RestartReason) -> String {
    (reason == .notContinued ? "cannot be resumed" : "has changed on the server") + ": starting over"
  }

  /// The same in a column, while the time runs down: `again in 0:04 (2/5)`, or `again 0:04` where there is no room.
  static func countdown(_ next: NextAttempt, _ left: Duration, width: Int) -> String {
    let time = Quantity.countdown(left)
    let forms = [next.retries.map { "again in \(time) (\(next.retry)/\($0))" }, "again in \(time)", "again \(time)"]
    return forms.compactMap(\.self).first { CellWidth.of($0) <= width } ?? time
  }
}

/// What happens to a file of which no bytes come, in a column.
enum StatusMessages {
  /// From then on a wait is shown with its time.
  private static let patience = Duration.seconds(3)

  static func text(_ status: ActiveRow.Status, at now: Duration, width: Int) -> String {
    switch status {
    case .retry(let retry): RetryMessages.countdown(retry.next, retry.until - now, width: width)
    case .stalled(let since): timed("stalled", now - since, width)
    case .paused: "paused"
    case .phase(.idle, _): "waiting"
    case .phase(let phase, let since):
      timed(phase == .lookingUp ? "looking up" : "\(phase)", now - since, width, after: patience)
    }
  }

  private static func timed(_ word: String, _ time: Duration, _ width: Int, after least: Duration = .zero) -> String {
    let text = "\(word) \(Quantity.wait(time, isLeft: false))"
    return time >= least && CellWidth.of(text) <= width ? text : word
  }
}

/// What is worth knowing of a file that ended well, beyond its size.
enum OutcomeNote {
  static func waits(for process: Int?) -> String {
    "another dlm downloads it: waiting for \(process.map { "process \($0)" } ?? "it")"
  }

  static func text(_ outcome: DownloadOutcome) -> String {
    let kind: String? =
      switch outcome.kind {
      case .fetched: outcome.resumed > 0 ? "resumed from \(Quantity.bytes(outcome.resumed))" : nil
      case .unchanged: "unchanged"
      case .fresh: "fresh"
      case .copied: "from cache"
      case .skipped: "skipped: a file exists"
      }
    let remark: String? =
      switch outcome.remark {
      case .sameAsHere: "identical to the existing file"
      case .stale: "stale: the server was not asked, or failed"
      case .noContent: "empty: the server answered 204 No Content"
      case .decoded: "decompressed: the server had compressed it unasked"
      case .notCoded: "not compressed, though the server's Content-Encoding says so"
      case .stillCoded: "kept in the server's Content-Encoding"
      case .page: "the server calls it HTML: a login or error page?"
      case nil: nil
      }
    let replaced = outcome.hasReplaced ? "replacing an existing file" : nil
    return [kind, remark, replaced].compactMap(\.self).joined(separator: ", ")
  }
}

/// The messages about watched lists.
struct WatchMessages {
  let words: ProgressMessages

  /// - Returns: the kind of news, and the rest of the line.
  func text(_ news: WatchNews) -> (head: String, text: String) {
    switch news {
    case .missing(let list, let files):
      let rest = files == 0 ? "waiting for it" : "its \(Quantity.files(files)) until it is back"
      return ("list", files == 0 ? "\(list) does not exist; \(rest)" : "\(list) is gone; going on with \(rest)")
    case .unreadable(let why, let files):
      let named = "going on with the \(Quantity.files(files)) that it named before"
      let rest = files == 0 ? "waiting until that changes" : named
      return ("list", "\(words.rejection(why)); \(rest)")
    case .changed(let change) where change.list == WatchNews.added:
      return ("list", "\(Quantity.files(change.started)) added")
    case .changed(let change): return ("list", "\(change.list) has changed: \(Self.text(change))")
    case .removed(let request, let was): return ("removed", "\(request.address.key), \(Self.text(was))")
    case .asking(let files): return ("asking", "again about \(Quantity.files(files))")
    case .waiting(let status): return ("watching", Self.text(status))
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
