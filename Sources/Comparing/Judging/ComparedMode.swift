package import DownloadModel

/// A mode that is compared, with one of its widths if several are compared.
package struct ComparedMode: Sendable, Hashable, Comparable {
  package let mode: DownloadMode
  /// Files at a time; `nil` for the run's own setting, and for `sequential`, whose width is one.
  package let jobs: Int?

  package init(_ mode: DownloadMode, jobs: Int? = nil) {
    self.mode = mode
    self.jobs = mode == .sequential ? nil : jobs
  }

  package static let sequential = ComparedMode(.sequential)
  package static let asyncLet = ComparedMode(.asyncLet)
  package static let parallel = ComparedMode(.parallel)

  /// As typed in a command: `parallel`, `parallel -j 16`.
  package var name: String { jobs.map { "\(mode.rawValue) -j \($0)" } ?? mode.rawValue }

  /// Every mode at every width, `sequential` once; `nil` is a width that a run finds itself. A single width is not part
  /// of the names.
  package static func all(_ modes: [DownloadMode], widths: [Int?]) -> [ComparedMode] {
    let named = widths.count < 2 ? [nil] : widths
    return modes.flatMap { mode in named.map { ComparedMode(mode, jobs: $0) } }.distinct
  }

  /// The order in a report: by mode, then by width, a run's own width last.
  package static func < (left: ComparedMode, right: ComparedMode) -> Bool {
    func rank(_ mode: ComparedMode) -> (Int, Int) {
      (DownloadMode.allCases.firstIndex(of: mode.mode) ?? 0, mode.jobs ?? .max)
    }
    return rank(left) < rank(right)
  }
}
