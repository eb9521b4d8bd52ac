import DownloadModel

/// The state of a file while no bytes arrive, for a column.
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
