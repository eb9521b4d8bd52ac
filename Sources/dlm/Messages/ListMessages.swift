import DownloadModel
import TerminalProgress

/// What a list is waited for.
enum ListMessages {
  static func waiting(for source: Source) -> String { "waiting for \(source.name)" }

  /// `reading https://host.example/list: host not found, retrying in 2 s`
  static func reading(_ address: Address, after last: (failure: DownloadError, pause: Duration)?) -> String {
    let why = last.map {
      ": \(FailureMessages($0.failure).cause), retrying in \(Quantity.wait($0.pause, isLeft: true))"
    }
    return "reading \(address.redacted)\(why ?? "")"
  }
}
