import DownloadModel
import TerminalProgress

/// Messages about waiting for a list.
enum ListMessages {
  static func waiting(for source: Source) -> String { "waiting for \(source.name)" }

  /// - Parameter paths: folders of the host.
  static func forbidden(_ paths: [String], by address: Address, in source: Source) -> String {
    let shown = paths.prefix(3).map { ListLine.shown($0) }.joined(separator: ", ") + (paths.count > 3 ? ", …" : "")
    let count = paths.count == 1 ? "1 folder" : "\(paths.count) folders"
    return "\(source.name): robots.txt of \(address.host) forbids \(count), skipped: \(shown); "
      + "to download one, give its URL"
  }

  /// `reading https://host.example/list: host not found, retrying in 2 s`
  static func reading(_ address: Address, after last: (failure: DownloadError, pause: Duration)?) -> String {
    let why = last.map {
      ": \(FailureMessages($0.failure).cause), retrying in \(Quantity.wait($0.pause, isLeft: true))"
    }
    return "reading \(address.redacted)\(why ?? "")"
  }
}
