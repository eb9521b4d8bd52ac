/// Three strategies to run a list, and the last of them at a width that it finds itself.
package enum DownloadMode: String, Sendable, CaseIterable, Codable {
  case sequential
  case asyncLet = "async-let"
  case parallel
  /// A task group, as wide as the answers to this list speak for.
  case auto

  package static let strategies = [sequential, asyncLet, parallel]

  /// The strategy that it runs: auto is the task group of parallel, at a width that it finds.
  package var kind: DownloadMode { self == .auto ? .parallel : self }
}

/// In which order requests go, beside those that go first (`--order`); those of unknown size go last.
package enum RequestOrder: String, Sendable, CaseIterable {
  case list
  case small
  case large
  case random
}
