/// Three strategies to run a list, and `auto`, which is the last of them with a width that it finds itself.
package enum DownloadMode: String, Sendable, CaseIterable, Codable {
  case sequential
  case asyncLet = "async-let"
  case parallel
  /// A task group whose width follows the measured goodput.
  case auto

  package static let strategies = [sequential, asyncLet, parallel]

  /// The strategy that it runs: `auto` is the task group of `parallel`, with a width that it finds.
  package var kind: DownloadMode { self == .auto ? .parallel : self }
}

/// The order of requests after the urgent ones (`--order`); requests of unknown size go last.
package enum RequestOrder: String, Sendable, CaseIterable {
  case list
  case small
  case large
  case random
}
