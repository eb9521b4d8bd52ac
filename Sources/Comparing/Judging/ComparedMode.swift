package import DownloadModel

/// What is measured side by side: a mode, and where several widths of it are asked for, one of those.
package struct ComparedMode: Sendable, Hashable, Comparable {
  package let mode: DownloadMode
  /// Files at a time; nil for the run's own setting, and for sequential, which has one.
  package let jobs: Int?

  package init(_ mode: DownloadMode, jobs: Int? = nil) {
    self.mode = mode
    self.jobs = mode == .sequential ? nil : jobs
  }

  package static let sequential = ComparedMode(.sequential)
  package static let asyncLet = ComparedMode(.asyncLet)
  package static let parallel = ComparedMode(.parallel)

  /// As its options are typed: `parallel`, `parallel -j 16`.
  package var name: String { jobs.map { "\(mode.rawValue) -j \($0)" } ?? mode.rawValue }

  /// Every mode at every width, sequential once; nil is a width that a run finds out. With one width no mode names it.
  package static func all(_ modes: [DownloadMode], widths: [Int?]) -> [ComparedMode] {
    let named = widths.count < 2 ? [nil] : widths
    return modes.flatMap { mode in named.map { ComparedMode(mode, jobs: $0) } }.distinct
  }

  /// As a report lists them: by mode, then by width, a run's own width last.
  package static func < (left: ComparedMode, right: ComparedMode) -> Bool {
    func rank(_ mode: ComparedMode) -> (Int, Int) {
      (DownloadMode.allCases.firstIndex(of: mode.mode) ?? 0, mode.jobs ?? .max)
    }
    return rank(left) < rank(right)
  }
}
